import { readFile } from 'node:fs/promises';

const MEDIA_TYPES = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'own.css': 'text/css; charset=utf-8',
  'start.js': 'text/javascript; charset=utf-8',
} as const;

type Asset = keyof typeof MEDIA_TYPES;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heddle API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/own.css">
</head>
<body>
<div id="reference"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

// `validatorUrl`: by default, Swagger UI sends the document to a validator on another server.
const START_SCRIPT = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
});
`;

// Removes margins and the column of links, which is always empty. Reduces padding on a phone.
const STYLE = `body { margin: 0; }
.swagger-ui .info { margin: 24px 0; }
.swagger-ui .scheme-container { padding: 16px 0; }
.swagger-ui .response-col_links { display: none; }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 8px; }
  .swagger-ui .info .title { font-size: 26px; }
  .swagger-ui .opblock .opblock-summary-method { min-width: 56px; padding: 6px 0; }
  .swagger-ui .opblock .opblock-section-header, .swagger-ui .table-container, .swagger-ui .responses-inner,
  .swagger-ui .opblock-description-wrapper { padding: 8px; }
  .swagger-ui .response-col_status { min-width: 44px; }
  .swagger-ui .parameters-col_name { width: auto; }
  .swagger-ui .parameters-col_description input, .swagger-ui select { max-width: 100%; }
}
`;

const INLINE_ASSETS: { readonly [asset: string]: string } = { 'own.css': STYLE, 'start.js': START_SCRIPT };

/** The Content-Security-Policy of the page, which loads only what this server serves. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The folder into which the build copies the assets. It has the same path from `src` and from `dist`. */
const ASSET_FOLDER = new URL('../../dist/reference/', import.meta.url);

/** Returns the page with Swagger UI, which shows the OpenAPI document and can send requests to the API. */
export function referencePage(): Response {
  return respond(PAGE, 'text/html; charset=utf-8');
}

/** Returns an asset of the page; undefined for another name. */
export async function referenceAsset(name: string): Promise<Response | undefined> {
  if (!Object.hasOwn(MEDIA_TYPES, name)) return undefined;
  const asset = name as Asset;
  const text = INLINE_ASSETS[asset] ?? (await readFile(new URL(asset, ASSET_FOLDER), 'utf8'));
  return respond(text, MEDIA_TYPES[asset]);
}

function respond(text: string, type: string): Response {
  const headers = {
    'Content-Type': type,
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-cache',
  };
  return new Response(text, { headers });
}
