import { createContext } from "preact";

/** The id of the session whose messages are shown. */
export const OpenSession = createContext("");
