import { render } from "preact";
import { ticketText } from "./api/ticket.js";
import { followSeen } from "./state/seen.js";
import { filterByService } from "./state/session-filter.js";
import { restartList } from "./state/session-list.js";
import { searchByTypedWords } from "./state/session-search.js";
import { App } from "./view/app.js";
import { listenToKeys } from "./view/keyboard.js";

listenToKeys();
if (ticketText === undefined) {
  followSeen();
  restartList();
  filterByService();
  searchByTypedWords();
}
render(<App />, document.getElementById("app") as HTMLElement);
