#!/usr/bin/env python3
"""One data set as some forty tools, formats and people lay it out, for tests/stranger.sh.

  tests/exports.py YOLO OUT    YOLO: a folder as `brightnet data synth` writes it, with JPEG images

Writes OUT/NAME/... for each layout and prints a line for it: what --data takes, a tab, and the words that `brightnet data
check` must print, separated by |.
"""
import csv
import json
import os
import pathlib
import shutil
import sys

NAMES = ["circle", "square", "triangle"]


class Image:
    """An image with its boxes: (class id, x, y, width, height) as fractions."""

    def __init__(self, file, side):
        self.file, self.side = file, side
        text = (file.parents[2] / "labels" / file.parent.name / f"{file.stem}.txt").read_text()
        self.boxes = [(int(c), *map(float, box)) for c, *box in map(str.split, text.splitlines())]

    def yolo(self):
        return "".join(f"{c} {x:.6f} {y:.6f} {w:.6f} {h:.6f}\n" for c, x, y, w, h in self.boxes)

    def corners(self):
        """(name, x1, y1, x2, y2) in pixels."""
        for c, x, y, w, h in self.boxes:
            yield NAMES[c], *(round(v * self.side, 2) for v in (x - w / 2, y - h / 2, x + w / 2, y + h / 2))


class Layouts:
    def __init__(self, yolo, out):
        self.out = out
        side = jpeg_width(next((yolo / "images/train").iterdir()))
        self.splits = {s: [Image(f, side) for f in sorted((yolo / "images" / s).iterdir())] for s in ("train", "val")}
        self.side = side

    def place(self, image, path):
        path = self.out / path
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(image.file, path)

    def text(self, path, content):
        path = self.out / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def say(self, data, undivided=False, classes=3):
        train = self.splits["train"] + (self.splits["val"] if undivided else [])
        boxes = sum(len(i.boxes) for i in train)
        print(f"{self.out / data}\ttrain: {len(train)} images|{boxes} boxes, {classes} classes|No problems found")

    def each(self):
        for split, images in self.splits.items():
            for image in images:
                yield split, image

    def yolo_files(self, name, image_at, label_at, valid="val", ending=".jpg"):
        """Images and labels at these places, in which {s} and {n} are the split and the image's name."""
        for split, image in self.each():
            at = {"s": valid if split == "val" else split, "n": image.file.stem}
            self.place(image, f"{name}/{image_at.format(**at)}{ending}")
            self.text(f"{name}/{label_at.format(**at)}.txt", image.yolo())

    # --- YOLO's labels --------------------------------------------------------------------------------------------------
    def ultralytics(self):
        names = "\n".join(f"  {i}: {n}" for i, n in enumerate(NAMES))
        for name, yaml in {
            "ultralytics": f"path: .\ntrain: images/train\nval: images/val\nnames:\n{names}\n",
            "ultralytics-absolute": f"path: {self.out / 'ultralytics-absolute'}\ntrain: images/train\nval: images/val\nnames: {json.dumps(NAMES)}\n",
            "ultralytics-nc": f"train: ./images/train\nval: ./images/val\nnc: 3\nnames: {json.dumps(NAMES)}\ndownload: https://example.com/x.zip\n",
            "ultralytics-list": f"path: .\ntrain: [images/train]\nval: [images/val]\nnames: {json.dumps(NAMES)}\n",
        }.items():
            self.yolo_files(name, "images/{s}/{n}", "labels/{s}/{n}")
            self.text(f"{name}/data.yaml", yaml)
            self.say(f"{name}/data.yaml")
        self.say("ultralytics")

    def roboflow_yolo(self):
        self.yolo_files("roboflow", "{s}/images/{n}_jpg.rf.0a1b", "{s}/labels/{n}_jpg.rf.0a1b", valid="valid")
        self.text("roboflow/data.yaml", f"train: ../train/images\nval: ../valid/images\nnc: 3\nnames: {NAMES}\n")
        self.text("roboflow/README.roboflow.txt", "exported\n")
        self.say("roboflow")
        self.yolo_files("roboflow-darknet", "{s}/{n}", "{s}/{n}", valid="valid")
        for split in ("train", "valid"):
            self.text(f"roboflow-darknet/{split}/_darknet.labels", "\n".join(NAMES))
        self.say("roboflow-darknet")

    def plain_folders(self):
        for name, image_at, label_at in (("parallel", "images/{s}/{n}", "labels/{s}/{n}"),
                                         ("split-first", "{s}/images/{n}", "{s}/labels/{n}"),
                                         ("beside", "{s}/{n}", "{s}/{n}")):
            self.yolo_files(name, image_at, label_at)
            self.text(f"{name}/classes.txt", "\n".join(NAMES))
            self.say(name)
        self.yolo_files("upper", "images/{s}/{n}", "labels/{s}/{n}", ending=".JPG")
        self.text("upper/classes.txt", "\r\n".join(NAMES) + "\r\n")
        self.say("upper")
        self.yolo_files("words", "images/{s}/a b é {n}", "labels/{s}/a b é {n}")
        self.text("words/classes.txt", "\ufeff" + "\n".join(NAMES))
        self.say("words")
        self.yolo_files("finder", "images/{s}/{n}", "labels/{s}/{n}")
        self.text("finder/classes.txt", "\n".join(NAMES))
        for clutter in ("images/train/.DS_Store", "images/train/._000000.jpg", "labels/train/._000000.txt", "__MACOSX/x.jpg"):
            self.text(f"finder/{clutter}", "Mac OS X")
        self.say("finder")
        self.yolo_files("undivided", "images/{s}{n}", "labels/{s}{n}")
        self.text("undivided/classes.txt", "\n".join(NAMES))
        self.say("undivided", undivided=True)

    def label_tools_yolo(self):
        self.yolo_files("label-studio", "images/1a2b-{s}{n}", "labels/1a2b-{s}{n}")
        self.text("label-studio/classes.txt", "\n".join(NAMES))
        self.text("label-studio/notes.json", {"categories": [{"id": i, "name": n} for i, n in enumerate(NAMES)]})
        self.say("label-studio", undivided=True)
        self.yolo_files("labelimg", "{s}{n}", "{s}{n}")
        self.text("labelimg/classes.txt", "\n".join(NAMES))
        self.say("labelimg", undivided=True)
        self.yolo_files("labelimg-labels", "images/{s}/{n}", "labels/{s}/{n}")
        for split in ("train", "val"):
            self.text(f"labelimg-labels/labels/{split}/classes.txt", "\n".join(NAMES))
        self.say("labelimg-labels")
        self.yolo_files("cvat", "obj_{s}_data/{n}", "obj_{s}_data/{n}", valid="valid")
        for split, file in (("train", "train"), ("val", "valid")):
            self.text(f"cvat/{file}.txt", "".join(f"data/obj_{file}_data/{i.file.stem}.jpg\n" for i in self.splits[split]))
        self.text("cvat/obj.names", "\n".join(NAMES))
        self.text("cvat/obj.data", "classes = 3\ntrain = data/train.txt\nvalid = data/valid.txt\nnames = data/obj.names\nbackup = backup/\n")
        self.say("cvat")

    def darknet(self):
        self.yolo_files("darknet", "data/obj/{s}{n}", "data/obj/{s}{n}")
        for split, file in (("train", "train"), ("val", "test")):
            self.text(f"darknet/data/{file}.txt", "".join(f"data/obj/{split}{i.file.stem}.jpg\n" for i in self.splits[split]))
        self.text("darknet/data/obj.names", "\n".join(NAMES))
        self.text("darknet/data/obj.data", "classes= 3\ntrain  = data/train.txt\nvalid  = data/test.txt\nnames = data/obj.names\n")
        self.say("darknet/data/obj.data")
        self.yolo_files("lists", "images/{s}/{n}", "labels/{s}/{n}")
        self.text("lists/classes.txt", "\n".join(NAMES))
        for split in self.splits:
            self.text(f"lists/{split}.txt", "".join(f"./images/{split}/{i.file.stem}.jpg\n" for i in self.splits[split]))
        self.say("lists/train.txt")
        for split in self.splits:
            self.text(f"lists/{split}.txt", "".join(f"images\\{split}\\{i.file.stem}.jpg\r\n" for i in self.splits[split]))
        self.say("lists/train.txt")

    # --- JSON -----------------------------------------------------------------------------------------------------------
    def coco_document(self, images, first=1, super_category=False):
        categories = [{"id": i + first, "name": n} for i, n in enumerate(NAMES)]
        if super_category:
            categories.insert(0, {"id": 0, "name": "shapes", "supercategory": "none"})
        annotations, n = [], 0
        for number, image in enumerate(images):
            for name, x1, y1, x2, y2 in image.corners():
                n += 1
                annotations.append({"id": n, "image_id": number, "category_id": NAMES.index(name) + first, "iscrowd": 0,
                                    "bbox": [x1, y1, round(x2 - x1, 2), round(y2 - y1, 2)], "area": (x2 - x1) * (y2 - y1), "segmentation": []})
        return {"info": {}, "licenses": [], "categories": categories, "annotations": annotations,
                "images": [{"id": k, "file_name": i.file.name, "width": self.side, "height": self.side} for k, i in enumerate(images)]}

    def coco(self):
        for name, folder in (("coco", "images/{s}2017"), ("coco-short", "{s}2017"), ("coco-images", "images/{s}")):
            for split, image in self.each():
                self.place(image, f"{name}/{folder.format(s=split)}/{image.file.name}")
            for split, images in self.splits.items():
                self.text(f"{name}/annotations/instances_{split}2017.json" if "2017" in folder else f"{name}/annotations/instances_{split}.json",
                          self.coco_document(images))
            self.say(name)
        self.say("coco/annotations/instances_train2017.json")
        for split, images in self.splits.items():
            own = "valid" if split == "val" else split
            for image in images:
                self.place(image, f"roboflow-coco/{own}/{image.file.name}")
            self.text(f"roboflow-coco/{own}/_annotations.coco.json", self.coco_document(images))
        self.say("roboflow-coco")
        for split, images in self.splits.items():
            for image in images:
                self.place(image, f"two-json/all/{split}-{image.file.name}")
            document = self.coco_document(images)
            for one in document["images"]:
                one["file_name"] = f"all/{split}-{one['file_name']}"
            self.text(f"two-json/{'a' if split == 'train' else 'b'}.json", document)
        print(f"{self.out / 'two-json/a.json'},{self.out / 'two-json/b.json'}\ttrain: {len(self.splits['train'])} images|3 classes|No problems found")

    def json_tools(self):
        for split, image in self.each():
            own = "valid" if split == "val" else split
            boxes = list(image.corners())
            self.place(image, f"labelme/{split}/{image.file.name}")
            self.text(f"labelme/{split}/{image.file.stem}.json", {
                "version": "5.4.1", "flags": {}, "imagePath": image.file.name, "imageData": None, "imageHeight": self.side, "imageWidth": self.side,
                "shapes": [{"label": n, "points": [[x1, y1], [x2, y2]], "shape_type": "rectangle", "flags": {}} for n, x1, y1, x2, y2 in boxes]})
            self.place(image, f"supervisely/{split}/img/{image.file.name}")
            self.text(f"supervisely/{split}/ann/{image.file.name}.json", {
                "description": "", "tags": [], "size": {"height": self.side, "width": self.side},
                "objects": [{"classTitle": n, "geometryType": "rectangle", "points": {"exterior": [[x1, y1], [x2, y2]], "interior": []}} for n, x1, y1, x2, y2 in boxes]})
            for name in ("via", "via-project"):
                self.place(image, f"{name}/{split}/{image.file.name}")
            self.place(image, f"createml/{own}/{image.file.name}")
            self.place(image, f"datumaro/images/{split}/{image.file.name}")
        self.say("labelme")
        self.text("supervisely/meta.json", {"classes": [{"title": n, "shape": "rectangle"} for n in NAMES], "tags": []})
        self.say("supervisely")
        for split, images in self.splits.items():
            own = "valid" if split == "val" else split
            regions = {f"{i.file.name}1": {"filename": i.file.name, "size": 1, "file_attributes": {}, "regions": [
                {"shape_attributes": {"name": "rect", "x": x1, "y": y1, "width": x2 - x1, "height": y2 - y1}, "region_attributes": {"class": n}}
                for n, x1, y1, x2, y2 in i.corners()]} for i in images}
            self.text(f"via/{split}/via_region_data.json", regions)
            self.text(f"via-project/{split}/via_project.json", {"_via_settings": {}, "_via_img_metadata": regions})
            self.text(f"createml/{own}/_annotations.createml.json", [{"image": i.file.name, "annotations": [
                {"label": n, "coordinates": {"x": (x1 + x2) / 2, "y": (y1 + y2) / 2, "width": x2 - x1, "height": y2 - y1}}
                for n, x1, y1, x2, y2 in i.corners()]} for i in images])
            self.text(f"datumaro/annotations/{split}.json", {"info": {}, "categories": {"label": {"labels": [{"name": n} for n in NAMES]}}, "items": [
                {"id": i.file.stem, "image": {"path": i.file.name, "size": [self.side, self.side]}, "annotations": [
                    {"id": k, "type": "bbox", "label_id": NAMES.index(n), "bbox": [x1, y1, x2 - x1, y2 - y1]}
                    for k, (n, x1, y1, x2, y2) in enumerate(i.corners())]} for i in images]})
        for name in ("via", "via-project", "createml", "datumaro"):
            self.say(name)

    # --- XML, tables, KITTI ---------------------------------------------------------------------------------------------
    def xml(self, image, filename):
        objects = "".join(
            f"<object><name>{n}</name><difficult>0</difficult><bndbox><xmin>{x1 + 1}</xmin><ymin>{y1 + 1}</ymin><xmax>{x2}</xmax><ymax>{y2}</ymax></bndbox></object>"
            for n, x1, y1, x2, y2 in image.corners())
        return (f"<annotation><folder>x</folder><filename>{filename}</filename><size><width>{self.side}</width><height>{self.side}</height>"
                f"<depth>3</depth></size>{objects}</annotation>")

    def voc(self):
        for split, image in self.each():
            name = f"{split}{image.file.stem}"
            self.place(image, f"voc/JPEGImages/{name}.jpg")
            self.text(f"voc/Annotations/{name}.xml", self.xml(image, f"{name}.jpg"))
            self.place(image, f"voc-devkit/VOCdevkit/VOC2012/JPEGImages/{name}.jpg")
            self.text(f"voc-devkit/VOCdevkit/VOC2012/Annotations/{name}.xml", self.xml(image, f"{name}.jpg"))
            self.place(image, f"voc-renamed/JPEGImages/{name}.jpg")
            self.text(f"voc-renamed/Annotations/label_{name}.xml", self.xml(image, f"{name}.jpg"))
            self.place(image, f"voc-small/images/{name}.jpg")
            self.text(f"voc-small/annotations/{name}.xml", self.xml(image, f"{name}.jpg"))
            own = "valid" if split == "val" else split
            self.place(image, f"roboflow-voc/{own}/{image.file.name}")
            self.text(f"roboflow-voc/{own}/{image.file.stem}.xml", self.xml(image, image.file.name))
        for split, images in self.splits.items():
            for root in ("voc", "voc-devkit/VOCdevkit/VOC2012"):
                self.text(f"{root}/ImageSets/Main/{split}.txt", "".join(f"{split}{i.file.stem}\n" for i in images))
        self.say("voc")
        self.say("voc-devkit")
        self.say("voc-devkit/VOCdevkit")
        self.say("voc-renamed", undivided=True)
        self.say("voc-small", undivided=True)
        self.say("roboflow-voc")

    def tables(self):
        for split, images in self.splits.items():
            own = "valid" if split == "val" else split
            for place, file in (("roboflow-csv", "_annotations.csv"), ("csv", None)):
                for image in images:
                    self.place(image, f"{place}/{own if file else 'images'}/{'' if file else split}{image.file.name}")
                path = self.out / place / (f"{own}/{file}" if file else f"images/{split}.csv")
                with open(path, "w", newline="") as out:
                    table = csv.writer(out)
                    table.writerow(["filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax"])
                    for image in images:
                        for n, *box in image.corners():
                            table.writerow([("" if file else split) + image.file.name, self.side, self.side, n, *box])
        self.say("roboflow-csv")
        self.say("csv/images/train.csv")
        for split, image in self.each():
            own = {"train": "training", "val": "validation"}[split]
            self.place(image, f"kitti/{own}/image_2/{image.file.name}")
            self.text(f"kitti/{own}/label_2/{image.file.stem}.txt",
                      "".join(f"{n} 0.0 0 0.0 {x1} {y1} {x2} {y2} 0 0 0 0 0 0 0\n" for n, x1, y1, x2, y2 in image.corners()))
        self.say("kitti")


def jpeg_width(file):
    """Of a baseline JPEG, from its frame header."""
    data = file.read_bytes()
    at = 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    return int.from_bytes(data[at + 7:at + 9], "big")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    layouts = Layouts(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(os.path.abspath(sys.argv[2])))
    for write in (layouts.ultralytics, layouts.roboflow_yolo, layouts.plain_folders, layouts.label_tools_yolo, layouts.darknet,
                  layouts.coco, layouts.json_tools, layouts.voc, layouts.tables):
        write()


if __name__ == "__main__":
    main()
