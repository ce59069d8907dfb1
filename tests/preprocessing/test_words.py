"""Numbers, dates and yes/no answers written as words."""

import numpy as np
import pytest

from crbm.preprocessing import words
from crbm.preprocessing.table import objects

NAN = np.nan


@pytest.mark.parametrize(
    ("written", "decimal", "values"),
    [
        (["1", "-2.5", "1e3", ".5", "+7"], ".", [1, -2.5, 1000, 0.5, 7]),
        (["1,234", "1,234,567.5", "12'000"], ".", [1234, 1234567.5, 12000]),
        (["1,5", "-2,25", "1.234,5"], ",", [1.5, -2.25, 1234.5]),
        (["1 234,5", "12\u00a0000,0"], ",", [1234.5, 12000]),
        (["12 %", "?", "n/a", "-", None], ".", [12, NAN, NAN, NAN, NAN]),
    ],
)
def test_numbers_as_people_write_them(written, decimal, values):
    parsed, found = words.best_numbers(objects(written))
    assert found == decimal
    assert not parsed.n_failed
    np.testing.assert_array_equal(parsed.values, values)


@pytest.mark.parametrize(
    "word", ["abc", "1,23,4", "1.2.3", "12a", "1,2345.6", "inf", "+49 30 12345", "1 2"]
)
def test_what_is_no_number_fails(word):
    assert words.best_numbers(objects([word]))[0].failed.tolist() == [True]


def test_points_before_three_digits_depend_on_the_decimal_point():
    written = objects(["1.234", "999"])
    assert words.best_numbers(written)[0].values.tolist() == [1.234, 999]
    parsed, found = words.best_numbers(written, ",")
    assert (parsed.values.tolist(), found) == ([1234, 999], ",")


@pytest.mark.parametrize(
    ("written", "form", "day"),
    [
        (["2024-02-29", "2024-03-01 12:30"], "iso", "2024-02-29"),
        (["29.02.2024", "01.03.2024"], "%d.%m.%Y", "2024-02-29"),
        (["29.02.24", "01.03.24"], "%d.%m.%y", "2024-02-29"),
        (["29.02.2024 07:15", None], "%d.%m.%Y %H:%M", "2024-02-29T07:15"),
        (["02/29/2024", "03/01/2024"], "%m/%d/%Y", "2024-02-29"),
        (["29/02/2024", "01/03/2024"], "%d/%m/%Y", "2024-02-29"),
    ],
)
def test_the_format_of_dates_is_found(written, form, day):
    parsed, found = words.best_dates(objects(written))
    assert found == form
    assert parsed.values[0] == np.datetime64(day)
    assert np.isnat(parsed.values).tolist() == [word is None for word in written]


def test_days_and_months_that_could_change_places_are_noticed():
    assert words.is_ambiguous(objects(["03/04/2024", "05/06/2024"]), "%d/%m/%Y")
    assert not words.is_ambiguous(objects(["03/04/2024", "25/06/2024"]), "%d/%m/%Y")
    assert not words.is_ambiguous(objects(["03.04.2024"]), "%d.%m.%Y")


def test_a_time_zone_is_taken_off():
    parsed = words.dates(objects(["2024-02-29T12:00:00+02:00"]), "iso")
    assert parsed.values[0] == np.datetime64("2024-02-29T10:00")
