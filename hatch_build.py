"""What the distribution says of its home, which the checkout does not know: addresses, and links of the README.

``GLUONX_REPOSITORY=https://host/owner/gluonx`` in the environment of a build gives the wheel its project URLs, and
makes the README's relative links absolute, since a package index shows it where no files are beside it. The release
workflow sets it; without it the links stay as they are. `docs/release.md` tells how to publish.
"""

import os
import pathlib
import re

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
