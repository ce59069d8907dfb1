"""Images and masks in files: what is read, matched, refused and written back."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from crbm.datasets import (
    MaskLabels,
    as_images,
    load,
    read_image,
    read_images,
    read_mask,
    write_mask,
)
from crbm.datasets.images.labels import distinct_colours
from crbm.datasets.images.masks import find_labels
from crbm.datasets.images.matching import image_files, match

RAMP = np.arange(12, dtype=np.uint8).reshape(3, 4)
COLOURS = np.stack([RAMP, 2 * RAMP, 255 - RAMP], axis=-1)


@pytest.fixture
def save(tmp_path):
    """Writes an array or a Pillow image under a name and returns its path."""

    def write(name, image, **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(image) if isinstance(image, np.ndarray) else image
        image.save(path, **options)
        return path

    return write


def with_palette(indices, colours):
    image = Image.fromarray(indices.astype(np.uint8), "P")
    image.putpalette([value for colour in colours for value in colour])
    return image


@pytest.mark.parametrize("ending", ["png", "tif", "tiff", "bmp", "webp", "PNG"])
def test_images_are_read_as_they_were_written(save, ending):
    lossless = {"lossless": True} if ending == "webp" else {}
    np.testing.assert_array_equal(
        read_image(save(f"a.{ending}", COLOURS, **lossless)), COLOURS
    )
    assert read_image(save(f"a.{ending}", COLOURS), colour=False).shape == (3, 4)


def test_grey_images_have_two_axes_unless_colours_are_asked_for(save):
    path = save("a.png", RAMP)
    np.testing.assert_array_equal(read_image(path), RAMP)
    np.testing.assert_array_equal(
        read_image(path, colour=True), np.stack([RAMP] * 3, axis=-1)
    )


def test_modes_of_files_do_not_matter(save):
    palette = with_palette(RAMP, [(i, 2 * i, 255 - i) for i in range(12)])
    np.testing.assert_array_equal(read_image(save("p.png", palette)), COLOURS)
    bits = read_image(save("1.png", Image.fromarray(RAMP > 5)))
    np.testing.assert_array_equal(bits, np.where(RAMP > 5, 255, 0))
    clear = np.dstack([COLOURS, np.where(RAMP > 5, 255, 0)]).astype(np.uint8)
    found = read_image(save("rgba.png", clear))
    np.testing.assert_array_equal(found[RAMP > 5], COLOURS[RAMP > 5])
    assert (found[RAMP <= 5] == 255).all()  # nothing there: shown on white
    cmyk = Image.fromarray(COLOURS).convert("CMYK")
    np.testing.assert_array_equal(read_image(save("c.tif", cmyk)), COLOURS)


def test_sixteen_bits_become_fractions_of_bytes(save):
    deep = np.array([[0, 0xFFFF, 0x7FFF]], dtype=np.uint16)
    for name in ("a.png", "a.tif"):
        found = read_image(save(name, Image.fromarray(deep)))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, deep * (255 / 65535), rtol=1e-6)
    floats = np.array([[-1.5, 0.25]], dtype=np.float32)
    np.testing.assert_array_equal(read_image(save("f.tif", floats)), floats)
    assert read_image(save("f.tif", floats), colour=True).shape == (1, 2, 3)


@pytest.mark.parametrize("ending", ["png", "tif", "webp"])
def test_pictures_of_a_turned_camera_are_upright(save, ending):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to show
    lossless = {"lossless": True} if ending == "webp" else {}
    path = save(f"photos/a.{ending}", COLOURS, exif=exif, **lossless)
    np.testing.assert_array_equal(read_image(path), np.rot90(COLOURS, -1))
    save("masks/a.png", np.zeros((4, 3), np.uint8))  # of the upright image
    data = read_images(path.parent, path.parent.parent / "masks")
    assert data.images[0].shape[:2] == data.masks[0].shape == (4, 3)


def wrong_files(save):
    """Files that cannot be read as images, and what is said about them."""
    whole = save("whole.png", np.tile(COLOURS, (40, 40, 1))).read_bytes()
    jpeg = save("whole.jpg", np.tile(COLOURS, (40, 40, 1))).read_bytes()
    pages = [Image.fromarray(RAMP + i) for i in range(2)]
    infinite = np.array([[np.inf]], dtype=np.float32)
    large = np.array([[70000]], dtype=np.int32)
    folder = save("x/a.png", RAMP).parent.parent
    contents = {
        "cut.png": (whole[:-60], "truncated or damaged"),
        "cut.jpg": (jpeg[: len(jpeg) // 2], "truncated or damaged"),
        "head.png": (whole[:20], "truncated or damaged|not an image"),
        "empty.png": (b"", "not an image that can be read"),
        "text.png": (b"hello", "not an image that can be read"),
    }
    for name, (content, message) in contents.items():
        (folder / name).write_bytes(content)
        yield folder / name, message
    several = save("pages.tif", pages[0], save_all=True, append_images=pages[1:])
    yield several, "2 frames"
    yield save("inf.tif", infinite), "NaN or infinity"
    yield save("large.tif", large), "from 70000 to 70000"


def test_wrong_files_get_one_line_with_their_name(save):
    for path, message in wrong_files(save):
        with pytest.raises(ValueError, match=message) as caught:
            read_image(path)
        assert str(path) in str(caught.value), path
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="no image file"):
        read_image("nowhere.png")


def png_of_size(side):
    """A PNG file that claims to be this large, and has no pixels."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))]
    chunks += [(b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        check = struct.pack(">I", zlib.crc32(kind + data))
        content += struct.pack(">I", len(data)) + kind + data + check
    return content


def test_large_images_are_refused_before_they_are_decoded(save):
    path = save("flat.png", RAMP)
    for side in (10_000, 60_000):
        path.write_bytes(png_of_size(side))
        with pytest.raises(ValueError, match=r"flat.png`: has .* pixels; at most"):
            read_image(path)
    with pytest.raises(ValueError, match="has 4 x 3 pixels; at most 11 are read"):
        read_image(save("a.png", RAMP), max_pixels=11)


MATCHING = {
    "same": (["a.jpg", "b.jpg"], ["b.png", "a.png"]),
    "prefix": (["image-1.png", "image-10.png"], ["mask-10.png", "mask-1.png"]),
    "digits": (["img10.png", "img11.png"], ["img11_mask.png", "img10_mask.png"]),
    "suffix": (["cat.png", "catfish.png"], ["catfish_L.png", "cat_L.png"]),
    "cityscapes": (
        ["aachen_01_leftImg8bit.png", "aachen_02_leftImg8bit.png"],
        ["aachen_01_gtFine_labelIds.png", "aachen_02_gtFine_labelIds.png"],
    ),
    "one": (["photo.png"], ["labels.png"]),
}


@pytest.mark.parametrize("kind", MATCHING)
def test_masks_are_matched_by_name(tmp_path, kind):
    images, masks = ([tmp_path / name for name in names] for names in MATCHING[kind])
    found = match(images, masks)
    key = [path.stem.split("_L")[0].split("_mask")[0] for path in found]
    if kind == "same":
        assert key == ["a", "b"]
    elif kind == "cityscapes":
        assert key == [masks[0].stem, masks[1].stem]
    elif kind == "one":
        assert found == masks
    else:
        assert found == masks[::-1]


def test_names_that_do_not_match_are_named(tmp_path):
    images = [tmp_path / f"image-{i}.png" for i in range(5)]
    masks = [tmp_path / "m" / f"mask-{i}.png" for i in (0, 1, 2, 7)]
    message = "2 of 5 images have no mask in .*`image-3.png`, `image-4.png`.*mask-7"
    with pytest.raises(ValueError, match=message):
        match(images, masks)
    with pytest.warns(UserWarning, match=r"1 of 4 masks have no image.*`mask-7.png`"):
        assert match(images[:3], masks) == masks[:3]
    with pytest.raises(ValueError, match=r"a.png` and `a.tif` have the same name"):
        match([tmp_path / "a.png", tmp_path / "a.tif"], masks)


def test_a_folder_is_listed_in_the_order_of_its_numbers(save, tmp_path):
    for name in ("a10.png", "a9.PNG", "b.jpg", ".hidden.png"):
        save(f"some/{name}", RAMP)
    (tmp_path / "some" / "readme.txt").write_text("hello")
    found = [path.name for path in image_files(tmp_path / "some")]
    assert found == ["a9.PNG", "a10.png", "b.jpg"]


def test_folders_without_images_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no image files .*the folder is empty"):
        read_images(tmp_path / "empty")
    with pytest.raises(ValueError, match="there are folders, such as `empty`"):
        read_images(tmp_path)
    (tmp_path / "empty" / "a.txt").write_text("")
    with pytest.raises(ValueError, match=r"1 others, such as `a.txt`"):
        read_images(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_images(tmp_path / "nowhere")


def test_sizes_that_differ_are_named(save, tmp_path):
    save("images/a.png", COLOURS)
    save("masks/a.png", RAMP.T)
    message = r"images/a.png` is 4 x 3 pixels and its mask `.*masks/a.png` is 3 x 4"
    with pytest.raises(ValueError, match=message):
        read_images(tmp_path / "images", tmp_path / "masks")


def test_a_folder_of_images_and_masks_is_read_lazily(save, tmp_path):
    for place in range(3):
        save(f"images/{place}.png", COLOURS[:, : 2 + place])
        save(f"masks/{place}.png", (RAMP[:, : 2 + place] > 5).astype(np.uint8) * 255)
    data = read_images(tmp_path / "images", tmp_path / "masks", names=["no", "yes"])
    (tmp_path / "images" / "1.png").unlink()
    np.testing.assert_array_equal(data.images[2], COLOURS)
    np.testing.assert_array_equal(data.masks[2], RAMP > 5)
    assert data.labels.names == ("no", "yes")
    with pytest.raises(FileNotFoundError):
        data.images[1]
    chosen = data.select([2, 0])
    assert chosen.files == ("2.png", "0.png")
    np.testing.assert_array_equal(chosen.images[0], COLOURS)
    np.testing.assert_array_equal(chosen.masks[1], RAMP[:, :2] > 5)
    with pytest.raises(ValueError, match="3 names were given for the 2 labels"):
        read_images(tmp_path / "masks", tmp_path / "masks", names=["a", "b", "c"])


def test_one_colour_image_makes_all_of_them_colour(save, tmp_path):
    save("images/a.png", RAMP)
    save("images/b.png", COLOURS)
    found = read_images(tmp_path / "images")
    assert [image.shape for image in found.images] == [(3, 4, 3), (3, 4, 3)]
    assert read_images(tmp_path / "images", colour=False).images[1].shape == (3, 4)


CODINGS = {
    "0/255": (np.array([0, 255]), None),
    "bytes": (np.array([0, 1, 2, 7]), None),
    "palette": (np.array([0, 3, 250]), [(i, 0, 255 - i) for i in range(256)]),
    "colours": (np.array([[0, 0, 0], [255, 0, 0], [0, 128, 64]]), None),
}


@pytest.mark.parametrize("kind", CODINGS)
def test_masks_of_every_coding_are_read_and_written_back(save, tmp_path, kind):
    values, palette = CODINGS[kind]
    truth = np.arange(12).reshape(3, 4) % len(values)
    pixels = values[truth].astype(np.uint8)
    image = pixels if palette is None else with_palette(pixels, palette)
    path = save("truth.png", image)
    labels = find_labels([path])
    ranks = np.argsort(np.argsort([str(v) for v in labels.values]))
    assert len(ranks) == len(values)
    found = read_mask(path, labels)
    coded = np.array(labels.values)[found]
    np.testing.assert_array_equal(coded, values[truth])
    write_mask(str(tmp_path / "again.png"), found, labels)
    again = Image.open(tmp_path / "again.png")
    assert again.mode == "P"
    if kind == "colours":
        np.testing.assert_array_equal(np.array(again.convert("RGB")), pixels)
    else:
        np.testing.assert_array_equal(read_mask(tmp_path / "again.png", labels), found)
        np.testing.assert_array_equal(np.array(again), pixels)
    if kind == "palette":
        assert again.convert("RGB").getpixel((1, 0)) == (3, 0, 252)
    assert MaskLabels.from_dict(labels.as_dict()) == labels


def test_masks_with_palettes_of_their_own_are_read_by_colour(save):
    red, blue = (200, 0, 0), (0, 0, 200)
    truth = np.array([[0, 1]])
    one = save("a.png", with_palette(truth, [red, blue]))
    other = save("b.png", with_palette(truth, [blue, red]))
    labels = find_labels([one, other])
    assert labels.values == (blue, red)
    assert read_mask(one, labels).tolist() == [[1, 0]]
    assert read_mask(other, labels).tolist() == [[0, 1]]


def test_grey_images_become_masks_by_a_threshold(save):
    path = save("clean.jpg", np.array([[0, 30, 127, 128, 255]], dtype=np.uint8))
    exact = save("clean.png", np.array([[0, 30, 127, 128, 255]], dtype=np.uint8))
    labels = find_labels([path], threshold=127)
    assert read_mask(exact, labels).tolist() == [[0, 0, 0, 1, 1]]


def test_masks_with_unexpected_values_are_named(save):
    labels = MaskLabels.of_values([0, 255])
    path = save("m.png", np.array([[0, 7, 255]], dtype=np.uint8))
    with pytest.raises(ValueError, match=r"m.png`: has pixels of value 7; .* 0, 255"):
        read_mask(path, labels)
    with pytest.raises(ValueError, match=r"c.png`: is in colour \(mode RGB\)"):
        read_mask(save("c.png", COLOURS), labels)
    with pytest.raises(ValueError, match=r"f.tif`: holds fractions"):
        read_mask(save("f.tif", np.zeros((2, 2), np.float32)), labels)
    colours = MaskLabels.of_values([(0, 0, 0), (255, 0, 0)])
    with pytest.raises(ValueError, match=r"value #000cf3; the labels are #000000"):
        read_mask(save("d.png", np.full((1, 1, 3), (0, 12, 243), np.uint8)), colours)
    noise = np.random.default_rng(0).integers(0, 256, (20, 20), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"too many for labels. JPG changes values"):
        find_labels([save("m.jpg", noise, quality=100)])


def test_arrays_of_images_and_masks_are_read_from_npz(tmp_path):
    path = tmp_path / "a.npz"
    images = np.stack([COLOURS, COLOURS])
    masks = np.stack([RAMP > 5, RAMP > 3]).astype(np.uint8) * 255
    np.savez(path, images=images, masks=masks)
    data = read_images(path)
    np.testing.assert_array_equal(data.images, images)
    np.testing.assert_array_equal(data.masks, masks > 0)
    np.savez(path, images=images)
    assert read_images(path).masks is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros(3)}, "there is no array `images`, but `X`"),
        ({"images": np.zeros((2, 3))}, "member `images`: uint8 or floats"),
        ({"images": np.zeros((2, 3, 4, 7))}, "member `images`: uint8 or floats"),
        ({"images": np.full((1, 2, 2), np.nan)}, "NaN or infinity"),
        (
            {"images": np.zeros((2, 3, 4)), "masks": np.zeros((2, 4, 3), int)},
            r"member `masks`: whole numbers of shape \(2, 3, 4\) are needed",
        ),
        (
            {"images": np.zeros((1, 9, 9)), "masks": np.arange(81).reshape(1, 9, 9)},
            "81 different values are too many",
        ),
    ],
)
def test_wrong_arrays_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_images(tmp_path / "a.npz")


def test_colours_of_labels_are_distinct():
    for count in (1, 2, 12, 200):
        assert len(set(distinct_colours(count))) == count


def test_named_images_are_loaded(data_dir):
    streets = load("camvid", data_dir)
    assert [len(rows) for rows in streets.splits.values()] == [367, 101, 233]
    images, masks = streets.part("train")
    assert images.shape == (367, 72, 96, 3)
    top = masks[:, :10][..., 40:56]
    names = np.array(streets.labels.names)
    assert names[np.bincount(top.ravel()).argmax()] in ("sky", "tree", "building")
    assert names[np.bincount(masks[:, -5:].ravel()).argmax()] == "road"
    small = as_images(load("horses", data_dir))
    assert small.masks.shape == small.images.shape[:3] == (328, 32, 32)


def test_horses_at_their_own_sizes_are_loaded(data_dir):
    horses = load("horses-full", data_dir, verify=False)
    assert len(horses) == 327
    assert horses.files[:3] == ("image-0.png", "image-1.png", "image-2.png")
    assert horses.masks.files[2].name == "mask-2.png"
    assert horses.images[5].shape[:2] == horses.masks[5].shape
    assert 0.05 < np.mean([horses.masks[i].mean() for i in range(10)]) < 0.6
