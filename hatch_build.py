"""What a build adds to the checkout: the stubs, which are not in git, and addresses, which the checkout does not know.

**Stubs.** The ``.pyi`` files are made of the live modules by `tools.stubs`, so a build needs what gluonx needs, and the
JAX of the build is the JAX whose signatures they show. A source distribution has them, and a wheel built of one takes
those. An editable install leaves them out where that JAX is not there: ``make`` writes them behind it.

**Addresses.** ``GLUONX_REPOSITORY=https://host/owner/gluonx`` in the environment of a build gives the wheel its project
URLs, and makes the README's relative links absolute, since a package index shows it where no files are beside it. The
release workflow sets it; without it the links stay as they are. `docs/release.md` tells how to publish.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def absolute(text: str, repository: str, version: str) -> str:
    """Return a page of the repository's root with links that work anywhere: those of the release's tag."""

    def change(found: re.Match[str]) -> str:
        picture, label, target = found.groups()
        kind = "raw" if picture else "blob"
        return f"{picture}[{_LINK.sub(change, label)}]({repository}/{kind}/v{version}/{target})"

    return _LINK.sub(change, text)


class CustomMetadataHook(MetadataHookInterface):
    """Fill in the README, and the project's addresses where they are known."""

    def update(self, metadata: dict) -> None:
        """Change the metadata in place."""
        text = (pathlib.Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("GLUONX_REPOSITORY", "").rstrip("/")
        if repository:
            text = absolute(text, repository, metadata["version"])
            metadata["urls"] = {
                "Source": repository,
                "Issues": f"{repository}/issues",
                "Changelog": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
                "Security": f"{repository}/blob/v{metadata['version']}/SECURITY.md",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class CustomBuildHook(BuildHookInterface):
    """Write the stubs into the checkout that is built."""

    def dependencies(self) -> list[str]:
        """Return what a build has to install first; nothing where the stubs come with the sources."""
        return [] if self._is_distributed() else list(self.metadata.core.dependencies)

    def initialize(self, version: str, build_data: dict) -> None:
        """Write the stubs, before the files of the distribution are collected."""
        if self._is_distributed() or (version == "editable" and importlib.util.find_spec("jax") is None):
            return
        subprocess.run([sys.executable, "-m", "tools.stubs", "--write"], cwd=self.root, check=True)

    def _is_distributed(self) -> bool:
        """Return whether the sources are those of a source distribution."""
        return (pathlib.Path(self.root) / "PKG-INFO").exists()
