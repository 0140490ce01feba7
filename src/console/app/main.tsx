import { render } from "preact";
import { followSeen } from "./state/seen.js";
import { filterByTypedLabels } from "./state/session-filter.js";
import { restartList } from "./state/session-list.js";
import { searchByTypedWords } from "./state/session-search.js";
import { App } from "./view/app.js";
import { listenToKeys } from "./view/keyboard.js";

listenToKeys();
followSeen();
restartList();
filterByTypedLabels();
searchByTypedWords();
render(<App />, document.getElementById("app") as HTMLElement);
