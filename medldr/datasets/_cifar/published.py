"""What was published of CIFAR-10 and CIFAR-100: files, checksums, addresses, keys.

Source:
    Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009; addresses and
    checksums as torchvision states them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Published(NamedTuple):
    """One of the two sets, in its version for Python.

    Attributes:
        title: Its name in texts.
        folder: Name of its folder.
        archive: Name of its archive.
        url: Address of the archive.
        md5: Checksum of the archive.
        train: Files of training images, in order, with their checksums.
        test: The file of test images, likewise.
        meta: The file of class names, likewise.
        labels: Key of the labels in a file of images.
        names: Key of the class names.
        classes: Number of classes.
    """

    title: str
    folder: str
    archive: str
    url: str
    md5: str
    train: dict[str, str]
    test: dict[str, str]
    meta: dict[str, str]
    labels: str
    names: str
    classes: int

    @property
    def files(self) -> dict[str, str]:
        """All files with their checksums."""
        return {**self.train, **self.test, **self.meta}


SETS: Final = {
    "cifar10_lt": Published(
        title="CIFAR-10",
        folder="cifar-10-batches-py",
        archive="cifar-10-python.tar.gz",
        url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        md5="c58f30108f718f92721af3b95e74349a",
        train={
            "data_batch_1": "c99cafc152244af753f735de768cd75f",
            "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
            "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
            "data_batch_4": "634d18415352ddfa80567beed471001a",
            "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        },
        test={"test_batch": "40351d587109b95175f43aff81a1287e"},
        meta={"batches.meta": "5ff9c542aee3614f3951f8cda6e48888"},
        labels="labels",
        names="label_names",
        classes=10,
    ),
    "cifar100_lt": Published(
        title="CIFAR-100",
        folder="cifar-100-python",
        archive="cifar-100-python.tar.gz",
        url="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
        md5="eb9058c3a382ffc7106e4002c42a8d85",
        train={"train": "16019d7e3df5f24257cddd939b257f8d"},
        test={"test": "f0ef6b0ae62326f3e7ffdfab6717acfc"},
        meta={"meta": "7973b15100ade9c7d40fb424638fde48"},
        labels="fine_labels",
        names="fine_label_names",
        classes=100,
    ),
}
"""The two sets, by the value of `data.set`."""
