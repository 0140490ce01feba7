/** Elements are made of text only: nothing that a session holds becomes markup. */
export function element(name, properties = {}, ...children) {
  const { dataset, ...others } = properties;
  const made = Object.assign(document.createElement(name), others);
  Object.assign(made.dataset, dataset);
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

export function time(text) {
  const at = new Date(text);
  return element("time", { dateTime: text, title: text }, Number.isNaN(at.getTime()) ? text : at.toLocaleString());
}

/** A button that loads the next page, and hides when there is none. */
export function pager(label, load) {
  const button = element("button", { type: "button" }, label);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      button.hidden = !(await load());
    } finally {
      button.disabled = false;
    }
  });
  return button;
}
