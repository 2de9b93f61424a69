"""Records, files and parameters of iterators: what make.py hands to MXNet, and the tests to gluonx."""

import struct

MAGIC = struct.pack("<I", 0xCED7230A)
RECORDS = [
    b"hello",
    b"",
    b"abcd",
    MAGIC,
    MAGIC + MAGIC,
    b"abcd" + MAGIC + b"efg",
    b"a" + MAGIC,
    b"1234" + MAGIC + b"56" + MAGIC + b"78",
    MAGIC * 3 + b"x",
    b"12345678" + MAGIC,
    MAGIC[1:] + MAGIC + MAGIC[:3],
    bytes(range(256)) * 5,
]
HEADERS = [
    (0, 4.0, 2574, 0),
    (5, 1, 2, 3),
    (0, [1, 2, 3], 7, 1),
    (0, [1.5], 7, 1),
    (0, -0.5, 2**63, 2**64 - 1),
    (0, [], 1, 0),
]

TEXTS = {
    "rows.csv": "".join(f"{r}.5,{r + 1},{-r}e-1,1{r}\n" for r in range(7)),
    "labels.csv": "".join(f"{r}\n" for r in range(7)),
    "pairs.csv": "".join(f"{r},{r * r}\n" for r in range(7)),
    "rows.svm": "1.0 0:0.5 2:1.5\n-2.0\n-3.0 0:0.75 1:2.5 2:1.25\n4 2:-1.25\n5 1:1\n",
    "labels.svm": "1 0:1 1:2\n2 0:3\n3 1:4\n4 0:5 1:6\n5\n",
    "one.lst": "".join(f"{100 + i}\t{i * 10}\tno{i}.jpg\n" for i in range(10)),
    "two.lst": "".join(f"{100 + i}\t{i * 10}\t{i / 2}\tno{i}.jpg\n" for i in range(10)),
}
BOXES = {i: [2, 5, float(i), 0.1, 0.2, 0.6, 0.7] + ([1.0, 0.3, 0.3, 0.9, 0.8] if i % 2 else []) for i in range(6)}


def idx(*sizes):
    """A file as those of MNIST, whose bytes count up."""
    count = 1
    for size in sizes:
        count *= size
    return struct.pack(f">HBB{len(sizes)}I", 0, 8, len(sizes), *sizes) + bytes(i % 251 for i in range(count))


def write_inputs(folder, images, recordio):
    """Write all files into a folder; those of records are made of golden ones by a module like mxnet.recordio."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    (folder / "images-idx3").write_bytes(idx(7, 5, 4))
    (folder / "labels-idx1").write_bytes(idx(7))
    for ending in ("rec", "idx"):
        (folder / f"images.{ending}").write_bytes(images.with_suffix("." + ending).read_bytes())
    source = recordio.MXIndexedRecordIO(str(folder / "images.idx"), str(folder / "images.rec"), "r")
    labels = {"several": lambda i: [float(i), i / 2, 7.0], "boxes": BOXES.get}
    for name, label_of in labels.items():
        target = recordio.MXIndexedRecordIO(str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "w")
        for i in source.keys if name == "several" else BOXES:
            _, image = recordio.unpack(source.read_idx(i))
            target.write_idx(i, recordio.pack((0, label_of(i), i, 0), image))
        target.close()
    source.close()


_IMAGES = {"path_imgrec": "images.rec", "data_shape": (3, 8, 8), "batch_size": 4, "preprocess_threads": 1}
_THREE = {**_IMAGES, "batch_size": 3}
_SEVERAL = {**_IMAGES, "path_imgrec": "several.rec", "label_width": 3}
_BOXES = {**_IMAGES, "path_imgrec": "boxes.rec"}
_CSV = {"data_csv": "rows.csv", "data_shape": (4,), "batch_size": 3}
_SVM = {"data_libsvm": "rows.svm", "data_shape": (3,), "batch_size": 2}
_MNIST = {"image": "images-idx3", "label": "labels-idx1", "batch_size": 3, "shuffle": False, "silent": True}

# Name: iterator, parameters (texts with a dot, or of MNIST, are files), and how many epochs.
ITERATORS = {
    "rounds": ("ImageRecordIter", _IMAGES, 4),
    "rounds_index": ("ImageRecordIter", {**_IMAGES, "path_imgidx": "images.idx"}, 3),
    "rounds_v1": ("ImageRecordIter_v1", _IMAGES, 3),
    "no_rounds_v1": ("ImageRecordIter_v1", {**_IMAGES, "round_batch": False}, 2),
    "exact": ("ImageRecordIter", {**_IMAGES, "batch_size": 5}, 2),
    "larger_batch": ("ImageRecordIter", {**_IMAGES, "batch_size": 12}, 3),
    "texts": ("ImageRecordIter", {**_IMAGES, "data_shape": "(3, 8, 8)", "batch_size": "4", "mirror": "True"}, 1),
    **{f"part_{i}_of_3": ("ImageRecordIter", {**_IMAGES, "num_parts": 3, "part_index": i}, 1) for i in range(3)},
    **{
        f"part_{i}_of_4_index": (
            "ImageRecordIter",
            {**_IMAGES, "path_imgidx": "images.idx", "num_parts": 4, "part_index": i, "batch_size": 2},
            1,
        )
        for i in range(4)
    },
    "several_labels": ("ImageRecordIter", _SEVERAL, 1),
    "list": ("ImageRecordIter", {**_IMAGES, "path_imglist": "one.lst"}, 1),
    "list_of_two": ("ImageRecordIter", {**_IMAGES, "path_imglist": "two.lst", "label_width": 2}, 1),
    "list_first_of_two": ("ImageRecordIter", {**_IMAGES, "path_imglist": "two.lst"}, 1),
    "uint8": ("ImageRecordUInt8Iter", _THREE, 1),
    "int8": ("ImageRecordInt8Iter", _THREE, 1),
    "uint8_by_dtype": ("ImageRecordIter", {**_THREE, "dtype": "uint8"}, 1),
    "gray": ("ImageRecordIter", {**_THREE, "data_shape": (1, 8, 8), "mean_r": 3.0}, 1),
    "mirror": ("ImageRecordIter", {**_THREE, "mirror": True}, 1),
    "mean": ("ImageRecordIter", {**_THREE, "mean_r": 10, "mean_g": 20, "mean_b": 30.5}, 1),
    "mean_std": ("ImageRecordIter", {**_THREE, "mean_r": 9, "std_r": 2, "std_g": 3, "std_b": 4, "scale": 0.5}, 1),
    "scale": ("ImageRecordIter", {**_THREE, "scale": 1 / 255}, 1),
    "mean_img": ("ImageRecordIter", {**_THREE, "mean_img": "mean.bin"}, 1),
    "resize": ("ImageRecordIter", {**_THREE, "resize": 9}, 1),
    "resize_up": ("ImageRecordIter", {**_THREE, "resize": 20}, 1),
    "area": ("ImageRecordIter", {**_THREE, "resize": 9, "inter_method": 3}, 1),
    "cubic": ("ImageRecordIter", {**_THREE, "resize": 16, "inter_method": 2}, 1),
    "lanczos": ("ImageRecordIter", {**_THREE, "resize": 16, "inter_method": 4}, 1),
    "by_sizes": ("ImageRecordIter", {**_THREE, "resize": 16, "inter_method": 9}, 1),
    "pad": ("ImageRecordIter", {**_THREE, "pad": 7, "fill_value": 7, "data_shape": (3, 22, 20)}, 1),
    "crop_size": ("ImageRecordIter", {**_THREE, "min_crop_size": 10, "max_crop_size": 10}, 1),
    "larger": ("ImageRecordIter", {**_THREE, "data_shape": (3, 16, 20)}, 1),
    "other_ratio": ("ImageRecordIter", {**_THREE, "data_shape": (3, 6, 10)}, 1),
    "rotate": ("ImageRecordIter", {**_THREE, "rotate": 30, "data_shape": (3, 12, 10)}, 1),
    "random_scale": ("ImageRecordIter", {**_THREE, "max_random_scale": 0.8, "min_random_scale": 0.8}, 1),
    "aspect": ("ImageRecordIter", {**_THREE, "max_aspect_ratio": 1.5, "min_aspect_ratio": 1.5}, 1),
    "image_size": ("ImageRecordIter", {**_THREE, "max_img_size": 9.0, "min_img_size": 9.0}, 1),
    "boxes": ("ImageDetRecordIter", _BOXES, 2),
    "boxes_no_rounds": ("ImageDetRecordIter", {**_BOXES, "round_batch": False}, 2),
    "boxes_force": ("ImageDetRecordIter", {**_BOXES, "data_shape": (3, 8, 12)}, 1),
    "boxes_shrink": ("ImageDetRecordIter", {**_BOXES, "resize_mode": "shrink", "data_shape": (3, 14, 13)}, 1),
    "boxes_fit": ("ImageDetRecordIter", {**_BOXES, "resize_mode": "fit", "data_shape": (3, 14, 13), "mean_r": 9}, 1),
    "boxes_padded": ("ImageDetRecordIter", {**_BOXES, "label_pad_width": 20, "label_pad_value": -5}, 1),
    "boxes_mirror": ("ImageDetRecordIter", {**_BOXES, "rand_mirror_prob": 1.0, "std_r": 2, "scale": 0.5}, 1),
    "csv": ("CSVIter", {**_CSV, "label_csv": "labels.csv"}, 3),
    "csv_shape": ("CSVIter", {**_CSV, "data_shape": (2, 2), "label_csv": "pairs.csv", "label_shape": (2,)}, 1),
    "csv_no_rounds": ("CSVIter", {**_CSV, "round_batch": False}, 2),
    "csv_larger_batch": ("CSVIter", {**_CSV, "batch_size": 10}, 2),
    "csv_int": ("CSVIter", {"data_csv": "pairs.csv", "data_shape": (2,), "batch_size": 3, "dtype": "int32"}, 1),
    "csv_long": ("CSVIter", {"data_csv": "pairs.csv", "data_shape": (2,), "batch_size": 3, "dtype": "int64"}, 1),
    "svm": ("LibSVMIter", _SVM, 3),
    "svm_labels": ("LibSVMIter", {**_SVM, "label_libsvm": "labels.svm", "label_shape": (2,)}, 1),
    **{f"svm_part_{i}": ("LibSVMIter", {**_SVM, "batch_size": 1, "num_parts": 2, "part_index": i}, 1) for i in (0, 1)},
    "mnist": ("MNISTIter", _MNIST, 2),
    "mnist_flat": ("MNISTIter", {**_MNIST, "flat": True}, 1),
    "mnist_part": ("MNISTIter", {**_MNIST, "batch_size": 1, "num_parts": 3, "part_index": 2}, 1),
}
FILES = {value for _, given, _ in ITERATORS.values() for value in given.values() if isinstance(value, str)}
FILES = {name for name in FILES if name in TEXTS or name.endswith((".rec", ".idx", ".bin")) or "-idx" in name}


def parameters(given, folder):
    """The parameters of a case, with its files in a folder."""
    return {key: str(folder / value) if value in FILES else value for key, value in given.items()}
