from __future__ import annotations

from collections.abc import AsyncIterator

from sessionpool.v1.annotation_service_pb2 import (
    Annotation,
    CreateAnnotationRequest,
    DeleteAnnotationRequest,
    ListAnnotationsRequest,
    UpdateAnnotationRequest,
)

from session_pool._async.calls import Calls
from session_pool.messages import new_id


class Annotations(Calls):
    """The calls for notes and feedback on messages, which are kept apart from the history."""

    async def create_annotation(
        self,
        session_id: str,
        message_id: str,
        *,
        thumb: str = "",
        text: str = "",
        author: str = "",
        annotation_id: str = "",
    ) -> Annotation:
        """Adds an annotation to a message. It needs a thumb (`up` or `down`), a text or both.

        `NOT_FOUND`: the session shows no such message. `ALREADY_EXISTS`: the session has another annotation with this
        id. `RESOURCE_EXHAUSTED`: the session has 1,000 annotations, or the message 16.
        """
        annotation = Annotation(
            annotation_id=annotation_id or new_id(), message_id=message_id, thumb=thumb, text=text, author=author
        )
        request = CreateAnnotationRequest(session_id=session_id, annotation=annotation)
        return await self._again(self.annotations.CreateAnnotation, request)

    async def list_annotations(
        self, session_id: str, *, message_id: str = "", page_size: int | None = None
    ) -> AsyncIterator[Annotation]:
        """Yields the annotations of the messages that a session shows, or of one of them, the oldest first.

        Pages are read as they are needed.
        """
        request = ListAnnotationsRequest(session_id=session_id, message_id=message_id, limit=page_size)
        while True:
            page = await self._again(self.annotations.ListAnnotations, request)
            for annotation in page.annotations:
                yield annotation
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def update_annotation(
        self,
        session_id: str,
        annotation_id: str,
        *,
        thumb: str | None = None,
        text: str | None = None,
        author: str | None = None,
    ) -> Annotation:
        """Changes what is given, and returns the annotation.

        The call is sent only once. `NOT_FOUND`: there is no such annotation.
        """
        request = UpdateAnnotationRequest(session_id=session_id, annotation_id=annotation_id, annotation=Annotation())
        for name, value in (("thumb", thumb), ("text", text), ("author", author)):
            if value is not None:
                setattr(request.annotation, name, value)
                request.update_mask.paths.append(name)
        return await self._once(self.annotations.UpdateAnnotation, request)

    async def delete_annotation(self, session_id: str, annotation_id: str) -> None:
        """Removes an annotation.

        The call is sent only once. `NOT_FOUND`: there is no such annotation.
        """
        request = DeleteAnnotationRequest(session_id=session_id, annotation_id=annotation_id)
        await self._once(self.annotations.DeleteAnnotation, request)
