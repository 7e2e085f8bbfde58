"""Which package was meant by a name that no package index has."""

import pytest

from paddock.views.package_names import find_meant


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("cv2", "opencv-python"),
        ("PIL", "pillow"),
        ("pkg_resources", "setuptools"),
        ("numpyy", "numpy"),
        ("torchvison", "torchvision"),
        ("padlepaddle", "paddlepaddle"),
        ("flax", ""),  # a package of its own, and near flask
        ("tensorrt", ""),
        ("numpy", ""),  # it is there, and the index of this machine lacks it
        ("my-private-lib", ""),
        ("", ""),
    ],
)
def test_the_package_that_was_meant(name: str, meant: str) -> None:
    assert find_meant(name) == meant
