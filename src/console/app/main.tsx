import { render } from "preact";
import { restartList } from "./state/session-list.js";
import { App } from "./view/app.js";
import { listenToKeys } from "./view/keyboard.js";

listenToKeys();
restartList();
render(<App />, document.getElementById("app") as HTMLElement);
