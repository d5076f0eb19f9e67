"""Covariance descriptors against a literal transcription of the paper's formulas; their spectrum."""

import math

import numpy as np
import pytest

from riemdp.descriptors import covariance_descriptors, descriptor_eigenvalue_bounds
from riemdp.errors import InputError

# As printed in appendix A.5 of Utpala, Vepakomma, Miolane (2023).
SOBEL_X = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]]) / 4
SOBEL_Y = np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]]) / 4
SECOND_X = np.array(
    [[1, 0, -2, 0, 1], [4, 0, -8, 0, 4], [6, 0, -12, 0, 6], [4, 0, -8, 0, 4], [1, 0, -2, 0, 1]]
) / 32
SECOND_Y = SECOND_X.T


def convolve_at(intensity, kernel, row, column):
    """(I ⋆ kernel)(row, column), by the definition of a convolution."""
    half = len(kernel) // 2
    offsets = range(-half, half + 1)
    return sum(kernel[half + a, half + b] * intensity[row - a, column - b] for a in offsets for b in offsets)


def derivatives(intensity, row, column):
    return [abs(convolve_at(intensity, k, row, column)) for k in (SOBEL_X, SOBEL_Y, SECOND_X, SECOND_Y)]


def angle(dx, dy):
    return math.pi / 2 if dy == 0 and dx > 0 else 0.0 if dx == 0 else math.atan(dx / dy)


def tuzel_features(image, row, column):
    height, width = image.shape[:2]
    luma = image if image.ndim == 2 else 0.299 * image[..., 0] + 0.587 * image[..., 1] + 0.114 * image[..., 2]
    dx, dy, dxx, dyy = derivatives(luma, row, column)
    colours = np.atleast_1d(image[row, column])
    return [column / width, row / height, *colours, dx, dy, dxx, dyy, math.sqrt(dx**2 + dy**2), angle(dx, dy)]


def five_features(image, row, column):
    return [255 * image[row, column], *derivatives(255 * image, row, column)]


def slow_descriptor(image, eta, features, rows, columns):
    phi = [features(image, row, column) for row in rows for column in columns]
    mean = [sum(column) / len(phi) for column in zip(*phi, strict=True)]
    covariance = np.zeros((len(mean), len(mean)))
    for vector in phi:
        centred = np.array(vector) - mean
        covariance += np.outer(centred, centred) / len(phi)
    return covariance + eta * np.eye(len(mean))


@pytest.mark.parametrize(
    ("shape", "name", "slow", "k"),
    [
        ((7, 9), "tuzel", tuzel_features, 9),
        ((8, 6, 3), "tuzel", tuzel_features, 11),
        ((7, 9), "five", five_features, 5),
    ],
)
def test_agrees_with_the_formulas_of_the_paper(shape, name, slow, k):
    images = np.random.default_rng(0).random((3, *shape))
    fast = covariance_descriptors(images, 1e-3, name)
    assert fast.shape == (3, k, k)
    for image, descriptor in zip(images, fast, strict=True):
        expected = slow_descriptor(image, 1e-3, slow, range(2, shape[0] - 2), range(2, shape[1] - 2))
        np.testing.assert_allclose(descriptor, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_region_keeps_only_its_pixels_and_the_images_own_coordinates():
    image = np.random.default_rng(1).random((10, 12))
    region = covariance_descriptors(image[None], region=(4, 0, 3, 7))[0]
    expected = slow_descriptor(image, 1e-6, tuzel_features, range(4, 7), range(2, 7))
    np.testing.assert_allclose(region, expected, rtol=0, atol=1e-14)


def test_uint8_and_floats_mean_the_same_pixels():
    images = np.random.default_rng(2).integers(0, 256, (4, 8, 8), dtype=np.uint8)
    for features in ("tuzel", "five"):
        integers = covariance_descriptors(images, features=features)
        floats = covariance_descriptors(images / 255.0, features=features)
        np.testing.assert_allclose(integers, floats, rtol=1e-13)


def test_results_do_not_depend_on_the_blocks(monkeypatch):
    images = np.random.default_rng(3).integers(0, 256, (50, 9, 9, 3), dtype=np.uint8)
    whole = covariance_descriptors(images)
    monkeypatch.setattr("riemdp.descriptors.BLOCK_PIXELS", 60)
    np.testing.assert_array_equal(covariance_descriptors(images), whole)


def test_constant_image_is_described_by_its_coordinates_alone():
    descriptor = covariance_descriptors(np.full((1, 12, 12), 0.7), 1e-6)[0]
    np.testing.assert_allclose(descriptor[2:, 2:], 1e-6 * np.eye(7), atol=1e-20)
    np.testing.assert_allclose(descriptor[0, 0], np.var(np.arange(2, 10) / 12) + 1e-6, rtol=1e-12)


def test_transposing_the_image_swaps_the_axes():
    images = np.random.default_rng(4).random((2, 9, 9))
    swapped = covariance_descriptors(images.transpose(0, 2, 1))[:, :8, :8]
    order = [1, 0, 2, 4, 3, 6, 5, 7]  # without the angle, which changes in another way
    np.testing.assert_allclose(swapped, covariance_descriptors(images)[:, order][:, :, order], rtol=1e-10)


def adversarial_images():
    """Images with extreme features: every pixel black or white."""
    rng = np.random.default_rng(5)
    rows, columns = np.indices((24, 24))
    patterns = [((rows // a + columns // b) % 2) for a in (1, 2, 3, 4, 12) for b in (1, 2, 3, 4, 12, 99)]
    patterns += [rows < 12, columns < rows, np.zeros((24, 24)), np.ones((24, 24))]
    return np.concatenate([np.array(patterns, dtype=float), rng.integers(0, 2, (200, 24, 24)).astype(float)])


def climb(image, value, rng, steps=300):
    """Flip pixels for as long as the value grows."""
    best = value(image)
    for row, column in rng.integers(0, len(image), (steps, 2)):
        image[row, column] = 1 - image[row, column]
        new = value(image)
        best, keep = max(best, new), new >= best
        if not keep:
            image[row, column] = 1 - image[row, column]
    return best


@pytest.mark.parametrize(("channels", "printed", "tight"), [(1, 12.0, 2.8668503), (3, 14.0, 3.3668503)])
def test_spectrum_of_adversarial_images_is_within_the_bounds(channels, printed, tight):
    eta, grey = 1e-6, adversarial_images()
    images = grey if channels == 1 else np.stack([grey, np.roll(grey, 1, axis=0), 1 - grey], axis=-1)
    spectrum = np.linalg.eigvalsh(covariance_descriptors(images, eta))
    lo, hi = descriptor_eigenvalue_bounds(channels, eta)
    assert spectrum.min() >= lo * (1 - 1e-8)
    assert spectrum.max() <= hi
    assert hi == pytest.approx(tight + eta, abs=1e-6)
    assert descriptor_eigenvalue_bounds(channels, eta, tight=False) == (eta, printed + eta)


def test_trace_bound_survives_an_adversary_and_is_not_vacuous():
    """The proof bounds the trace; hill climbing stays below, but gets past 2/5 of the bound."""
    def trace(image):
        return np.trace(covariance_descriptors(image[None])[0])

    starts = (np.indices((10, 10)).sum(axis=0) // 2 % 2.0, np.tile([0.0, 0, 0, 1, 1, 1, 1, 0, 0, 0], (10, 1)))
    best = max(climb(start, trace, np.random.default_rng(6)) for start in starts)
    bound = descriptor_eigenvalue_bounds(1)[1] + 8e-6
    assert 0.4 * bound < best <= bound


def test_five_features_reach_for_unnormalised_pixels():
    grey = (adversarial_images() * 255).astype(np.uint8)
    spectrum = np.linalg.eigvalsh(covariance_descriptors(grey, features="five"))
    lo, hi = descriptor_eigenvalue_bounds(1, features="five")
    assert (lo, hi) == (1e-6, 5 * 255**2 / 4 + 1e-6)
    assert descriptor_eigenvalue_bounds(1, features="five", tight=False)[1] == 5 * 255**2 + 1e-6
    assert hi / 10 < spectrum.max() <= hi
    assert spectrum.min() >= lo - 1e-15 * hi * 100


IMAGE = np.zeros((1, 8, 8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"images": np.zeros((8, 8))}, "shape"),
        ({"images": np.zeros((2, 8, 8, 4))}, "RGB"),
        ({"images": np.zeros((0, 8, 8))}, "at least one"),
        ({"images": np.zeros((1, 4, 8))}, "5 x 5"),
        ({"images": [np.zeros((8, 8)), np.zeros((9, 9))]}, "one size"),
        ({"images": np.zeros((1, 8, 8), dtype=np.int64)}, "dtype"),
        ({"images": np.zeros((1, 8, 8), dtype=complex)}, "dtype"),
        ({"images": np.array([[["a"] * 8] * 8])}, "dtype"),
        ({"images": np.full((1, 8, 8), np.nan)}, r"images\[0\]"),
        ({"images": np.concatenate([IMAGE, IMAGE + 255])}, r"images\[1\].*\[0, 1\]"),
        ({"images": IMAGE, "eta": 0.0}, "eta"),
        ({"images": IMAGE, "eta": -1}, "eta"),
        ({"images": IMAGE, "eta": np.inf}, "eta"),
        ({"images": IMAGE, "eta": "small"}, "eta"),
        ({"images": IMAGE, "features": "sift"}, "'tuzel', 'five'"),
        ({"images": IMAGE, "features": None}, "features"),
        ({"images": IMAGE, "region": (0, 0, 9, 8)}, "8 x 8"),
        ({"images": IMAGE, "region": (0, 0, 2, 8)}, "inside the image"),
        ({"images": IMAGE, "region": (0, 0, 8)}, "top, left"),
        ({"images": IMAGE, "region": (0, 0.5, 8, 8)}, "top, left"),
    ],
)
def test_bad_input_is_one_clear_error(arguments, message):
    with pytest.raises(InputError, match=message):
        covariance_descriptors(**arguments)


@pytest.mark.parametrize("channels", [0, 2, True, "rgb"])
def test_bounds_know_grey_and_rgb_only(channels):
    with pytest.raises(InputError, match="channels"):
        descriptor_eigenvalue_bounds(channels)
