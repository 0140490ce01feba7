import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";
import "../style/docs.css";
import { apiKey } from "../api/http.js";
import { curlLines, searchAll } from "./plugins.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const followTheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
followTheme();
dark.addEventListener("change", followTheme);

const ui = SwaggerUI({
  url: "openapi.json",
  domNode: document.getElementById("view") as HTMLElement,
  plugins: [searchAll, curlLines],
  deepLinking: true,
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // Otherwise the page would show the badge of a validation service on another host.
  validatorUrl: null,
  // Uses the key that this tab has for the console.
  onComplete: () => apiKey.value !== "" && ui.preauthorizeApiKey("bearer", apiKey.value),
});
