import type { ImageView, Output } from "../../../../parts/part-view.js";
import { Foldable } from "./foldable.js";
import { JsonTree } from "./json-tree.js";

/** The output of a tool. */
export function OutputView({ output }: { output: Output }) {
  const isEmpty = output.text === undefined && output.json === undefined && output.images.length === 0;
  return (
    <>
      {output.text !== undefined && <Foldable text={output.text} />}
      {output.json !== undefined && <JsonTree value={output.json} />}
      {output.images.map((image, i) => (
        <Picture key={i} image={image} />
      ))}
      {isEmpty && <p class="muted">No output</p>}
    </>
  );
}

/** A picture that the message holds. A picture on another host is named and never fetched. */
export function Picture({ image }: { image: ImageView }) {
  const name = image.name || image.mediaType || "picture";
  if (image.source)
    return <img class="picture" src={image.source} alt={image.name || "Picture of the message"} loading="lazy" />;
  if (image.address && /^https?:/.test(image.address)) {
    return (
      <p class="muted">
        Picture on another host, not loaded:{" "}
        <a href={image.address} target="_blank" rel="noopener noreferrer">
          {image.address}
        </a>
      </p>
    );
  }
  return <p class="muted">{`${name}: not shown. It must be PNG, JPEG, GIF, WebP or AVIF, and at most 6 MB.`}</p>;
}
