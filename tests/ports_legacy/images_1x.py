# ruff: noqa
"""Images in MXNet 1: decoding, augmenters, iterators, transforms, data sets, detection."""

import atexit, os, shutil, tempfile
import numpy as onp
import mxnet as mx
from mxnet import gluon, nd, autograd, image
from mxnet.gluon.data.vision import transforms
import zlib, struct


def folder():
    made = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, made, True)
    return made


def write(path, what, mode):
    with open(path, mode) as file:
        file.write(what)


def prog(run):
    print("###", run.__name__)
    run()


def photo(h=20, w=30, seed=0):
    rs = onp.random.RandomState(seed)
    small = rs.randint(0, 255, (h // 5 + 2, w // 5 + 2, 3)).astype("float64")
    y, x = onp.arange(h) / 5, onp.arange(w) / 5
    i, j = y.astype(int), x.astype(int)
    a, b = (y - i)[:, None, None], (x - j)[None, :, None]
    return (
        (small[i][:, j] * (1 - a) + small[i + 1][:, j] * a) * (1 - b)
        + (small[i][:, j + 1] * (1 - a) + small[i + 1][:, j + 1] * a) * b
    ).astype("uint8")


def png(img):
    h, w = img.shape[:2]

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF)

    rows = b"".join(b"\0" + img[k].tobytes() for k in range(h))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


d = folder()


@prog
def decode():
    img = image.imdecode(png(photo()))
    print(type(img).__name__, img.shape, img.dtype, img.asnumpy().astype("int64").sum(), img[3, 4].asnumpy())
    print(image.imdecode(png(photo()), to_rgb=0)[3, 4].asnumpy(), image.imdecode(png(photo()), flag=0).shape)
    write(d + "/a.png", png(photo()), "wb")
    print(image.imread(d + "/a.png").asnumpy().astype("int64").sum())
    b = onp.zeros((3, 2, 3), "uint8")
    out = nd.zeros((3, 2, 3), dtype="uint8")
    image.imdecode(png(b + 7), out=out)
    print(out.asnumpy().sum())
    try:
        image.imdecode(b"nonsense")
    except Exception as e:
        print("raises")


@prog
def resize_crop():
    img = nd.array(photo(), dtype="uint8")
    for interp in (0, 1, 2, 3, 4):
        print(interp, abs(image.imresize(img, 15, 10, interp).asnumpy().astype("int64")).sum())
    r = image.resize_short(img, 12)
    print(r.shape, r.asnumpy().astype("int64").sum())
    c, rect = image.center_crop(img, (8, 6))
    print(c.shape, rect, c.asnumpy().astype("int64").sum())
    f = image.fixed_crop(img, 2, 3, 10, 8, (5, 4), 1)
    print(f.shape, f.asnumpy().astype("int64").sum())
    print(image.scale_down((10, 20), (30, 40)), image.random_crop(img, (30, 20))[1])
    print(
        image.color_normalize(img.astype("float32"), nd.array([1, 2, 3]), nd.array([2, 2, 2])).asnumpy().mean().round(3)
    )


@prog
def augmenters():
    augs = image.CreateAugmenter(data_shape=(3, 10, 12), resize=14, mean=True, std=True)
    x = nd.array(photo(), dtype="uint8")
    for a in augs:
        x = a(x)
        print(type(a).__name__, x.shape, x.dtype)
    print(x.asnumpy().mean().round(2))
    print(
        [
            type(a).__name__
            for a in image.CreateAugmenter(
                (3, 8, 8),
                rand_crop=True,
                rand_mirror=True,
                brightness=0.1,
                contrast=0.1,
                saturation=0.1,
                hue=0.1,
                pca_noise=0.1,
                rand_gray=0.1,
            )
        ]
    )
    print(
        image.CastAug()(nd.array(photo(), dtype="uint8")).dtype,
        image.ForceResizeAug((6, 5))(x).shape,
        image.HorizontalFlipAug(1.1)(nd.array([[[1.0], [2.0]]])).asnumpy().ravel(),
    )
    print(image.ResizeAug(7).dumps(), image.CenterCropAug((4, 4)).dumps())
    print(
        image.SequentialAug([image.CastAug(), image.ColorNormalizeAug([1.0, 2, 3], [1.0, 1, 2])])(
            nd.array(photo(), dtype="uint8")
        )
        .asnumpy()
        .mean()
        .round(3)
    )


@prog
def image_iter_list():
    names = []
    for k in range(5):
        write(d + "/im%d.png" % k, png(photo(seed=k)), "wb")
        names.append([k % 3, "im%d.png" % k])
    it = image.ImageIter(
        batch_size=2,
        data_shape=(3, 8, 8),
        imglist=names,
        path_root=d + "/",
        aug_list=[image.ForceResizeAug((8, 8)), image.CastAug()],
    )
    print([tuple(p) for p in it.provide_data + it.provide_label])
    for b in it:
        print(b.data[0].shape, b.data[0].asnumpy().mean().round(2), b.label[0].asnumpy(), b.pad)
    it.reset()
    print(it.next().label[0].asnumpy())
    it = image.ImageIter(2, (3, 8, 8), imglist=names, path_root=d + "/", last_batch_handle="discard")
    print(len(list(it)))


@prog
def image_iter_rec():
    w = mx.recordio.MXIndexedRecordIO(d + "/r.idx", d + "/r.rec", "w")
    for k in range(5):
        w.write_idx(k, mx.recordio.pack(mx.recordio.IRHeader(0, float(k), k, 0), png(photo(seed=k))))
    w.close()
    it = image.ImageIter(
        batch_size=2, data_shape=(3, 10, 10), path_imgrec=d + "/r.rec", path_imgidx=d + "/r.idx", resize=12
    )
    for b in it:
        print(b.data[0].asnumpy().mean().round(2), b.label[0].asnumpy(), b.pad)
    it = mx.io.ImageRecordIter(
        path_imgrec=d + "/r.rec",
        data_shape=(3, 10, 10),
        batch_size=2,
        resize=12,
        mean_r=10,
        mean_g=20,
        mean_b=30,
        scale=0.5,
        preprocess_threads=1,
    )
    for b in it:
        print(b.data[0].asnumpy().mean().round(1), b.label[0].asnumpy(), b.pad)
    ds = gluon.data.vision.ImageRecordDataset(d + "/r.rec")
    x, y = ds[2]
    print(type(x).__name__, x.shape, y, x.asnumpy().astype("int64").sum())


@prog
def gluon_transforms():
    x = nd.array(photo(), dtype="uint8")
    t = transforms.Compose(
        [
            transforms.Resize((12, 10)),
            transforms.CenterCrop(8),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    y = t(x)
    print(y.shape, y.dtype, y.asnumpy().mean().round(4))
    print(
        transforms.Resize(9, keep_ratio=True)(x).shape,
        transforms.Resize(9)(x).shape,
        transforms.Cast("float32")(x).dtype,
    )
    b = nd.stack(x, x)
    print(transforms.ToTensor()(b).shape, transforms.Resize(6)(b).shape)
    print(
        transforms.CropResize(1, 2, 8, 6, (4, 3), 1)(x).shape,
        transforms.CropResize(1, 2, 8, 6)(x).asnumpy().astype("int64").sum(),
    )
    print(
        transforms.RandomResizedCrop(6)(x).shape,
        transforms.RandomFlipLeftRight()(x).shape,
        transforms.RandomBrightness(0.2)(x).dtype,
        transforms.RandomColorJitter(0.1, 0.1, 0.1, 0.1)(x).shape,
        transforms.RandomLighting(0.1)(x).shape,
    )
    print(transforms.Rotate(30)(transforms.ToTensor()(x)).asnumpy().mean().round(4))

    class Half(gluon.Block):
        def forward(self, x):
            return x[::2]

    print(transforms.Compose([Half(), transforms.ToTensor()])(x).shape)


@prog
def nd_image():
    x = nd.array(photo(), dtype="uint8")
    print(
        nd.image.to_tensor(x).asnumpy().mean().round(4),
        nd.image.normalize(nd.image.to_tensor(x), mean=(0.1, 0.2, 0.3), std=(1, 2, 3)).asnumpy().mean().round(4),
    )
    print(
        nd.image.resize(x, (8, 6)).shape,
        nd.image.crop(x, 2, 1, 5, 4).asnumpy().astype("int64").sum(),
        nd.image.flip_left_right(x)[0, 0].asnumpy(),
        nd.image.flip_top_bottom(x)[0, 0].asnumpy(),
    )
    print(nd.image.adjust_lighting(x.astype("float32"), (0.1, 0.2, 0.3)).asnumpy().mean().round(3))


@prog
def folder():
    for c in ("cat", "dog"):
        os.makedirs(d + "/f/" + c)
        for k in range(2):
            write(d + "/f/%s/%d.png" % (c, k), png(photo(seed=k)), "wb")
    ds = gluon.data.vision.ImageFolderDataset(d + "/f")
    print(ds.synsets, len(ds), ds[3][1], ds[0][0].shape, [os.path.basename(i[0]) for i in ds.items])
    dl = gluon.data.DataLoader(
        ds.transform_first(transforms.Compose([transforms.Resize(6), transforms.ToTensor()])),
        batch_size=2,
        num_workers=2,
    )
    for a, b in dl:
        print(a.shape, a.asnumpy().mean().round(4), b.asnumpy())
    ds = gluon.data.vision.ImageFolderDataset(d + "/f", transform=lambda x, y: (x.astype("float32") / 255, y + 1))
    print(ds[1][0].asnumpy().mean().round(4), ds[1][1])


@prog
def detection():
    lab = onp.array([2, 5, 0, 0.1, 0.2, 0.6, 0.7, 1, 0.3, 0.3, 0.9, 0.8])
    names = [[*lab, "im%d.png" % k] for k in range(3)]
    it = image.ImageDetIter(
        batch_size=2,
        data_shape=(3, 12, 12),
        imglist=[[lab.tolist(), "im%d.png" % k] for k in range(3)]
        if 0
        else [[*lab.tolist(), "im%d.png" % k] for k in range(3)],
        path_root=d + "/",
    )
    print([tuple(p) for p in it.provide_data + it.provide_label])
    b = it.next()
    print(b.label[0].asnumpy().round(3), b.data[0].shape)
    it.reshape(label_shape=(4, 5))
    print([tuple(p) for p in it.provide_label])
    for a in image.CreateDetAugmenter((3, 12, 12), resize=14, rand_mirror=True):
        print(type(a).__name__)
    img, label = image.DetHorizontalFlipAug(1.1)(nd.array(photo(), dtype="uint8"), onp.array([[0, 0.1, 0.2, 0.6, 0.7]]))
    print(label.round(3))


@prog
def zoo():
    net = gluon.model_zoo.vision.get_model("resnet18_v1", classes=4, prefix="r_")
    net.initialize(mx.init.Constant(0.01))
    print(net(nd.array(photo(32, 32)).transpose((2, 0, 1)).expand_dims(0) / 255).shape, net.name)
    x = gluon.data.vision.transforms.ToTensor()(nd.array(photo(32, 32), dtype="uint8")).expand_dims(0)
    print(net.features(x).shape)
