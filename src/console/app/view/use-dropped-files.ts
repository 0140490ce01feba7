import { useRef, useState } from "preact/hooks";
import { canWrite } from "../api/ticket.js";
import { addFiles } from "../state/unsent-files.js";

/** Handlers of an element to which files can be dragged, for a message below this session. */
export function useDroppedFiles(sessionId: string) {
  const [isOver, setOver] = useState(false);
  // Each element below that the pointer crosses is entered and left, too.
  const depth = useRef(0);
  const hasFiles = (event: DragEvent) => canWrite && event.dataTransfer?.types.includes("Files") === true;
  const move = (by: number) => (event: DragEvent) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth.current = Math.max(0, depth.current + by);
    setOver(depth.current > 0);
  };
  return {
    isOver,
    handlers: {
      onDragEnter: move(1),
      onDragOver: move(0),
      onDragLeave: move(-1),
      onDrop: (event: DragEvent) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        depth.current = 0;
        setOver(false);
        addFiles(sessionId, event.dataTransfer?.files ?? []);
      },
    },
  };
}
