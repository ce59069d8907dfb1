"""Forward kinematics of a small skeleton, by hand."""

import numpy as np
import pytest

from paper.report.skeleton import Joint, positions

ROOT = Joint(None, np.array([0, 1, 2]), np.array([3, 4, 5]))
KNEE = Joint(0, np.array([6, 7, 8]), np.array([9, 10, 11]))
FOOT = Joint(1, np.array([12, 13, 14]), np.array([15, 16, 17]))


def test_a_bent_knee_moves_the_foot_forward():
    frame = np.zeros(18)
    frame[5] = 900.0
    frame[[11, 17]] = -400.0
    straight = positions(frame, [ROOT, KNEE, FOOT])
    np.testing.assert_allclose(straight[:, 2], [900, 500, 100])
    frame[7] = np.pi / 2  # about the y axis: down becomes backward
    bent = positions(frame, [ROOT, KNEE, FOOT])
    np.testing.assert_allclose(bent[2], [-400, 0, 500], atol=1e-9)
    assert bent[2, 1] == pytest.approx(0)
