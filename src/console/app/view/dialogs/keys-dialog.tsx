import { ticketText } from "../../api/ticket.js";
import { canSearch } from "../../state/message-search.js";
import { DialogEnd, Modal } from "./modal.js";

const hasList = ticketText === undefined;

const KEYS: readonly (readonly [string, string])[] = [
  ["j, k", "Next and previous message"],
  ["g, G", "First and last message"],
  ["/", hasList ? "Search in the session; in the list, filter it" : "Search in the session"],
  ...(hasList
    ? ([["s", canSearch ? "Search the messages of all sessions" : "Messages of all sessions"]] as const)
    : []),
  ["t", "Go to a place or a time"],
  ["e", "Open or fold the message’s calls, outputs and reasoning"],
  ["r", "Raw view of the message"],
  ...(hasList ? ([["f", "Fork at the message"]] as const) : []),
  ["y", "Copy a link to the message"],
  ["o", "Outline: what was asked, what failed"],
  ["?", "These keys"],
  ["Esc", "Close what is open, then leave the message"],
];

export function KeysDialog() {
  return (
    <Modal title="Keys">
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(", ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <DialogEnd close="Close" />
    </Modal>
  );
}
