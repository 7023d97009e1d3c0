// Of an exported page: unfolds its script and its data, which are deflated in base64, and starts the script.
(async () => {
  const held = document.getElementById("data");
  try {
    const bytes = Uint8Array.from(atob(held.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const [script, data] = JSON.parse(await new Response(stream).text()), starts = document.createElement("script");
    held.textContent = JSON.stringify(data);
    starts.textContent = script;
    document.body.append(starts);
  } catch (error) {
    document.querySelector("main").textContent = `This browser cannot unfold the page (${error.message}): use one of 2023 or later.`;
  }
})();
