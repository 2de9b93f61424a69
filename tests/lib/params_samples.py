"""The files of real MXNet that tests read: a committed selection, and the full set where ../shared is there."""

from lib import ROOT, TESTS

HERE = TESTS / "samples"
SHARED = ROOT.parent / "shared" / "samples"


def all_files(*endings):
    """Every sample whose name ends so, the larger ones too where they are."""
    found = {}
    for root in (SHARED, HERE):
        for path in sorted(root.rglob("*")) if root.is_dir() else ():
            if path.is_file() and path.name.endswith(endings or ("",)) and path.suffix != ".md":
                found[str(path.relative_to(root))] = path
    return found


def networks():
    """(version, name, folder) of every exported network."""
    files = all_files("-symbol.json")
    return [(key.split("/")[0], path.name[: -len("-symbol.json")], path.parent) for key, path in files.items()]
