// Names in tables may break behind a dot, an underscore, a bracket, a comma or a sign, so that wide tables fit.
for (const name of document.querySelectorAll("article :is(td, th) code.literal .pre")) {
  const parts = name.textContent.split(/(?<=[\w)\]"'][._(,=/])(?=[\w"'([{])/);
  name.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
}
