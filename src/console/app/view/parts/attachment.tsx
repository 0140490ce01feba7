import { Download, File as FileIcon } from "lucide";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { SAFE_IMAGE } from "../../../../parts/fields.js";
import { withoutPiles } from "../../../../parts/piles.js";
import { readAttachment } from "../../api/attachments.js";
import type { PartAttachment } from "../../api/types.js";
import { save } from "../../state/save.js";
import { attempt } from "../../state/toasts.js";
import { byteSize } from "../../text/format.js";
import { Icon } from "../icon.js";
import { OpenSession } from "../open-session.js";
import { useAttachment } from "../use-attachment.js";

/** Pictures up to this size are read as soon as they come into view. */
const AT_ONCE_BYTES = 8 * 1024 * 1024;

/** Bytes beside a message: a picture or a player in its place, and a file to save. */
export function AttachmentBox({ attachment }: { attachment: PartAttachment }) {
  const type = attachment.mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  return (
    <div class="attachment">
      {!attachment.missing && SAFE_IMAGE.test(type) && <AttachedPicture attachment={attachment} />}
      {!attachment.missing && /^(audio|video)\//.test(type) && <Player attachment={attachment} type={type} />}
      <FileLine attachment={attachment} />
    </div>
  );
}

/** Name, type and size, with a button that saves the file. */
export function FileLine({ attachment }: { attachment: PartAttachment }) {
  const sessionId = useContext(OpenSession);
  const [read, setRead] = useState<number | undefined>(undefined);
  const { name, mediaType, size, missing } = attachment;
  const shown = withoutPiles(name) || "file";

  async function download(): Promise<void> {
    setRead(0);
    await attempt("Saving the file", async () => {
      save(await readAttachment(sessionId, attachment, { onRead: setRead }), name || attachment.attachmentId);
    });
    setRead(undefined);
  }

  return (
    <p class="file">
      <Icon node={FileIcon} />
      <span class="cut" title={shown}>
        {shown}
      </span>
      <span class="muted">{[mediaType, byteSize(size)].filter(Boolean).join(" · ")}</span>
      {missing ? (
        <span class="muted">not stored here</span>
      ) : read === undefined ? (
        <button type="button" class="text-button" aria-label={`Save ${shown}`} onClick={() => void download()}>
          <Icon node={Download} size={14} /> Save
        </button>
      ) : (
        <progress value={read} max={Math.max(1, Number(size))} aria-label={`Reading ${shown}`} />
      )}
    </p>
  );
}

function AttachedPicture({ attachment }: { attachment: PartAttachment }) {
  const sessionId = useContext(OpenSession);
  const box = useRef<HTMLDivElement>(null);
  const isLarge = Number(attachment.size) > AT_ONCE_BYTES;
  const [isWanted, setWanted] = useState(false);
  const { address, read, problem } = useAttachment(sessionId, attachment, isWanted);
  useEffect(() => {
    if (isLarge || box.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setWanted(true));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isLarge]);
  if (address !== undefined) {
    return <img class="picture" src={address} alt={withoutPiles(attachment.name) || "Picture of the message"} />;
  }
  return (
    <div class="picture-place" ref={box}>
      {problem ? (
        <span class="bad">The picture cannot be shown. {problem}</span>
      ) : isLarge && !isWanted ? (
        <button type="button" class="button" onClick={() => setWanted(true)}>
          Show the picture ({byteSize(attachment.size)})
        </button>
      ) : (
        <progress value={read} max={Math.max(1, Number(attachment.size))} aria-label="Reading the picture" />
      )}
    </div>
  );
}

function Player({ attachment, type }: { attachment: PartAttachment; type: string }) {
  const sessionId = useContext(OpenSession);
  const [isWanted, setWanted] = useState(false);
  const { address, read, problem } = useAttachment(sessionId, attachment, isWanted);
  const label = withoutPiles(attachment.name) || "recording";
  if (problem) return <p class="bad">It cannot be played. {problem}</p>;
  if (address === undefined) {
    return isWanted ? (
      <progress value={read} max={Math.max(1, Number(attachment.size))} aria-label={`Reading ${label}`} />
    ) : (
      <button type="button" class="button" onClick={() => setWanted(true)}>
        Play ({byteSize(attachment.size)})
      </button>
    );
  }
  // biome-ignore lint/a11y/useMediaCaption: a recording that somebody attached has no captions.
  if (type.startsWith("audio/")) return <audio class="player" src={address} controls aria-label={label} />;
  // biome-ignore lint/a11y/useMediaCaption: a recording that somebody attached has no captions.
  return <video class="player" src={address} controls aria-label={label} />;
}
