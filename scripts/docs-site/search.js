// The search of the documents: an index that was made with the site, loaded when first asked.
import MiniSearch from "./minisearch.js";

const SHOWN = 12;
const input = document.querySelector("#search");
const list = document.querySelector(".found");
const status = document.querySelector(".found-count");
let loading = null;

function load() {
  loading ??= fetch(new URL("search.json", import.meta.url))
    .then((response) => response.json())
    .then(({ index, options }) => MiniSearch.loadJS(index, options))
    .catch((error) => {
      loading = null;
      throw error;
    });
  return loading;
}

function entryOf({ id, title, page }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  // Addresses in the index begin with /docs; the service may lie below a path of its own.
  link.href = document.documentElement.dataset.base + id;
  link.textContent = title;
  item.append(link);
  if (title !== page) item.append(` ${page}`);
  return item;
}

async function search() {
  const text = input.value.trim();
  if (text === "") {
    list.replaceChildren();
    status.textContent = "";
    return;
  }
  const index = await load().catch(() => null);
  if (input.value.trim() !== text) return;
  if (index === null) {
    list.replaceChildren();
    status.textContent = "The search cannot be loaded. Type on to try again.";
    return;
  }
  const found = index.search(text);
  list.replaceChildren(...found.slice(0, SHOWN).map(entryOf));
  status.textContent = found.length === 0 ? "Nothing found." : `${found.length} found.`;
}

input.addEventListener("focus", () => void load().catch(() => {}));
input.addEventListener("input", () => void search());
input.closest("form").addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.click();
});
input.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  input.value = "";
  void search();
});
input.closest("search").hidden = false;
