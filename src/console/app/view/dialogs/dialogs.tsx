import { type Dialog, dialog } from "../../state/ui.js";
import { AskDialog } from "./ask-dialog.js";
import { DataSetDialog } from "./data-set-dialog.js";
import { EditDialog } from "./edit-dialog.js";
import { ExportDialog } from "./export-dialog.js";
import { GotoDialog } from "./goto-dialog.js";
import { KeyDialog } from "./key-dialog.js";
import { KeysDialog } from "./keys-dialog.js";
import { NoteDialog } from "./note-dialog.js";
import { ShareDialog } from "./share-dialog.js";

/** The one dialog that is open, if any. */
export function Dialogs() {
  const shown = dialog.value;
  // The key gives each dialog an element of its own, because the element of the last one may have been closed already.
  return shown && <Shown key={shown} shown={shown} />;
}

function Shown({ shown }: { shown: Dialog }) {
  switch (shown.kind) {
    case "confirm":
    case "prompt":
      return <AskDialog asked={shown} />;
    case "edit":
      return <EditDialog {...shown} />;
    case "note":
      return <NoteDialog {...shown} />;
    case "dataSet":
      return <DataSetDialog sessionIds={shown.sessionIds} />;
    case "key":
      return <KeyDialog />;
    case "keys":
      return <KeysDialog />;
    case "goto":
      return <GotoDialog />;
    case "share":
      return <ShareDialog session={shown.session} />;
    case "export":
      return <ExportDialog session={shown.session} />;
  }
}
