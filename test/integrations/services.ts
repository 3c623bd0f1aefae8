import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject } from '@heddle/core';
import { createGithub } from './github-server.ts';
import { createGoogleDrive } from './google-drive-server.ts';
import { googleError } from './simulated-service.ts';
import type { SimulatedService, SimulatedRequest, SimulatedResponse } from './simulated-service.ts';

/** Simulated services. Each accepts the token `token-of-NAME`. */
export interface Services {
  requests: SimulatedRequest[];
  /** Base URLs for the option `services` of an engine. */
  baseUrls: { readonly [service: string]: string };
  /** Makes the service respond to its next `times` requests with a rate limit, after the first `skip`. */
  rateLimitNext(service: string, times: number, skip?: number): void;
  /** Makes the service respond to its next `times` requests with `response`. */
  respondNext(service: string, response: SimulatedResponse, times?: number): void;
  /** Makes the service execute its next `times` requests without a response, after the first `skip`. */
  dropNextResponses(service: string, times: number, skip?: number): void;
  /** Makes the service redirect its requests from now on. */
  redirect(service: string, location: string): void;
  close(): Promise<void>;
}

const slackError = (error: string): SimulatedResponse => ({ body: { ok: false, error } });
const CHANNELS = ['C0123456789', 'C0000000002', 'C0000000003'].map((id) => ({ id, name: id.toLowerCase() }));

function postMessage({ body, headers }: SimulatedRequest): SimulatedResponse {
  const { channel = null, text } = body;
  if (!String(headers['content-type']).startsWith('application/json')) return slackError('invalid_form_data');
  if (!CHANNELS.some(({ id }) => id === channel)) return slackError('channel_not_found');
  if (typeof text !== 'string' || text === '') return slackError('no_text');
  const ts = '1767225600.000100';
  return { body: { ok: true, channel, ts, message: { text, ts } } };
}

/** Returns a page of a channel with a thousand messages. A page has at most 999 messages. */
function historyPage({ query }: SimulatedRequest): SimulatedResponse {
  const offset = Number(Buffer.from(query.get('cursor') ?? '', 'base64').toString() || 0);
  const size = Number(query.get('limit') ?? 100);
  if (size > 999) return slackError('invalid_limit');
  const cursor = offset + size < 1000 ? Buffer.from(String(offset + size)).toString('base64') : '';
  const messages = Array.from({ length: size }, (_, n) => ({ ts: `${offset + n}.0`, text: 'Hello' }));
  return {
    body: { ok: true, messages, has_more: cursor !== '', response_metadata: { next_cursor: cursor } },
  };
}

/** docs.slack.dev: failures have status 200; cursors are opaque strings; rate limits have status 429. */
const slack: SimulatedService = (request) => {
  const { method, path, query } = request;
  if (path === '/chat.postMessage') return postMessage(request);
  if (path === '/conversations.history') return historyPage(request);
  if (path !== '/conversations.list' || method !== 'GET') return slackError('unknown_method');
  const offset = Number(Buffer.from(query.get('cursor') ?? '', 'base64').toString() || 0);
  const size = Number(query.get('limit') ?? 100);
  const nextCursor =
    offset + size < CHANNELS.length ? Buffer.from(String(offset + size)).toString('base64') : '';
  return {
    body: {
      ok: true,
      channels: CHANNELS.slice(offset, offset + size),
      response_metadata: { next_cursor: nextCursor },
    },
  };
};

/** developers.google.com/workspace/sheets: values are rows; ranges are in A1 notation. */
const sheets: SimulatedService = ({ method, path, query, body }) => {
  const [, id = '', range = '', action] =
    /^\/v4\/spreadsheets\/([^/]+)\/values\/([^:]+|'[^']*'[^:]*)(?::(append))?$/.exec(path) ?? [];
  if (!['sheet-1', 'Candidates', 'Invoices'].includes(id))
    return googleError(404, 'NOT_FOUND', 'Requested entity was not found.');
  if (method !== 'POST' || action !== 'append') return googleError(404, 'NOT_FOUND', 'Method not found.');
  if (!['RAW', 'USER_ENTERED'].includes(query.get('valueInputOption') ?? ''))
    return googleError(400, 'INVALID_ARGUMENT', "'valueInputOption' is required but not specified");
  const rows = body['values'];
  const isCell = (cell: unknown): boolean => cell === null || typeof cell !== 'object';
  if (!Array.isArray(rows) || !rows.every((row) => Array.isArray(row) && row.every(isCell)))
    return googleError(400, 'INVALID_ARGUMENT', 'Invalid values');
  const columnCount = Math.max(...rows.map((row) => (row as Json[]).length));
  return {
    body: {
      spreadsheetId: id,
      tableRange: `${range}!A1:G1`,
      updates: {
        updatedRange: `${range}!A2`,
        updatedRows: rows.length,
        updatedColumns: columnCount,
        updatedCells: rows.length * columnCount,
      },
    },
  };
};

/** Returns a page of an endless list in the format of Google. The parameter `sizeName` of the query sets its size. */
function endlessPage(query: URLSearchParams, sizeName: string, maxSize: number): JsonObject {
  const size = Math.min(Number(query.get(sizeName) ?? 100), maxSize);
  const offset = Number(query.get('pageToken') ?? 0);
  const items = Array.from({ length: size }, (_, n) => ({ id: `item-${offset + n}` }));
  return { items, messages: items, nextPageToken: String(offset + size) };
}

const EVENTS = ['Kick-off', 'Review', 'Retrospective'].map((summary, index) => ({
  id: `event-${index}`,
  summary,
  attendees: [{ email: 'ada@example.com' }],
}));

/** developers.google.com/workspace/calendar: orderBy=startTime needs singleEvents; pages have nextPageToken. */
const calendar: SimulatedService = ({ method, path, query }) => {
  if (method === 'GET' && path === '/calendar/v3/calendars/busy/events')
    return { body: { kind: 'calendar#events', ...endlessPage(query, 'maxResults', 2500) } };
  if (method !== 'GET' || path !== '/calendar/v3/calendars/primary/events')
    return googleError(404, 'NOT_FOUND', 'Not Found');
  if (query.get('orderBy') === 'startTime' && query.get('singleEvents') !== 'true')
    return googleError(400, 'INVALID_ARGUMENT', 'The requested ordering is not available.');
  const offset = Number(query.get('pageToken') ?? 0);
  const nextPage = offset + 2 < EVENTS.length ? { nextPageToken: String(offset + 2) } : {};
  return {
    body: { kind: 'calendar#events', timeZone: 'UTC', items: EVENTS.slice(offset, offset + 2), ...nextPage },
  };
};

/** developers.google.com/workspace/gmail: the message is RFC 2822 in URL-safe Base64. */
const gmail: SimulatedService = ({ method, path, body, query }) => {
  if (method === 'GET' && path === '/gmail/v1/users/me/messages')
    return { body: endlessPage(query, 'maxResults', 500) };
  if (method !== 'POST' || path !== '/gmail/v1/users/me/messages/send')
    return googleError(404, 'NOT_FOUND', 'Not Found');
  const raw = body['raw'];
  if (typeof raw !== 'string' || !/^[\w-]+$/.test(raw))
    return googleError(400, 'INVALID_ARGUMENT', "'raw' RFC822 payload message string required");
  const message = Buffer.from(raw, 'base64url').toString();
  if (!/^To: .+$/m.test(message)) return googleError(400, 'INVALID_ARGUMENT', 'Recipient address required');
  return { body: { id: 'mail-1', threadId: 'thread-1', labelIds: ['SENT'] } };
};

/** Returns one page of an endless list of blocks. */
function childrenPage(query: URLSearchParams): SimulatedResponse {
  const size = Number(query.get('page_size') ?? 100);
  if (size > 100) return notionError(400, 'validation_error', 'page_size should be ≤ 100');
  const offset = Number(query.get('start_cursor') ?? 0);
  const results = Array.from({ length: size }, (_, n) => ({ object: 'block', id: `block-${offset + n}` }));
  return { body: { object: 'list', results, has_more: true, next_cursor: String(offset + size) } };
}

const notionError = (status: number, code: string, message: string): SimulatedResponse => ({
  status,
  body: { object: 'error', status, code, message },
});

/** developers.notion.com: every request names a version; a rich text object has at most 2,000 characters. */
const notion: SimulatedService = ({ method, path, headers, body, query }) => {
  if (headers['notion-version'] !== '2022-06-28')
    return notionError(400, 'missing_version', 'Notion-Version header should be defined');
  if (method === 'GET' && path === '/v1/blocks/long-page/children') return childrenPage(query);
  if (method !== 'POST' || path !== '/v1/pages')
    return notionError(404, 'object_not_found', 'Could not find it.');
  if (!(body['parent'] as JsonObject | undefined)?.['page_id'])
    return notionError(400, 'validation_error', 'body.parent should be defined');
  const hasLongText = [...JSON.stringify(body).matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].some(
    ([, text = '']) => (JSON.parse(`"${text}"`) as string).length > 2000,
  );
  if (hasLongText) return notionError(400, 'validation_error', 'content.length should be ≤ 2000');
  const title =
    (body['properties'] as { title?: { title: { text: { content: string } }[] } }).title?.title ?? [];
  return {
    body: {
      object: 'page',
      id: 'page-1',
      url: 'https://www.notion.so/page-1',
      created_time: '2026-01-01T00:00:00.000Z',
      last_edited_time: '2026-01-01T00:00:00.000Z',
      properties: { title: { title: title.map(({ text }) => ({ plain_text: text.content })) } },
    },
  };
};

/** linear.app/developers: errors are in `errors`, even with status 200; rate limits have status 400. */
const linear: SimulatedService = ({ method, path, body }) => {
  const { query, variables } = body as { query?: string; variables?: { input?: JsonObject } };
  if (method !== 'POST' || path !== '/graphql' || typeof query !== 'string')
    return { status: 404, body: null };
  const { teamId, title } = variables?.input ?? {};
  if (!query.includes('issueCreate'))
    return {
      status: 400,
      body: { errors: [{ message: 'Cannot query field', extensions: { type: 'graphql' } }] },
    };
  if (teamId !== 'team-1' || typeof title !== 'string')
    return {
      body: {
        data: null,
        errors: [{ message: 'Entity not found: Team', extensions: { type: 'invalid input' } }],
      },
    };
  return {
    body: { data: { issueCreate: { success: true, issue: { id: 'issue-1', identifier: 'ENG-1', title } } } },
  };
};

/** docs.postgrest.org: rows from `offset` on, at most `limit`. */
const supabase: SimulatedService = ({ method, path, query }) => {
  if (method !== 'GET' || path !== '/rest/v1/orders')
    return {
      status: 404,
      body: { code: 'PGRST205', message: `Could not find the table '${path.slice(9)}'` },
    };
  const offset = Number(query.get('offset') ?? 0);
  const size = Math.min(Number(query.get('limit') ?? 1000), 1000);
  return { body: Array.from({ length: size }, (_, n) => ({ id: offset + n })) };
};

/** docs.firecrawl.dev: `success` and `error` in the body. */
const firecrawl: SimulatedService = ({ method, path, body }) => {
  if (method !== 'POST' || path !== '/v2/scrape')
    return { status: 404, body: { success: false, error: 'Not found' } };
  if (typeof body['url'] !== 'string' || !/^https?:/.test(body['url']))
    return { status: 400, body: { success: false, error: 'Invalid URL' } };
  return {
    body: {
      success: true,
      data: { markdown: '# Weave', metadata: { sourceURL: body['url'], statusCode: 200 } },
    },
  };
};

/** airtable.com/developers: pages have an offset. */
const airtable: SimulatedService = ({ path, query }) => {
  if (path !== '/v0/app00000000000001/Feedback') return { status: 404, body: { error: 'NOT_FOUND' } };
  const isSecondPage = query.get('offset') === 'itr/rec2';
  const records = [
    { id: isSecondPage ? 'rec2' : 'rec1', createdTime: '2026-01-01T00:00:00Z', fields: { Text: 'Good' } },
  ];
  return { body: { records, ...(!isSecondPage && { offset: 'itr/rec2' }) } };
};

/** reddit.com/dev/api: listings; requests need a user agent. */
const reddit: SimulatedService = ({ path, query, headers }) => {
  if (!headers['user-agent']) return { status: 429, body: { message: 'Too Many Requests', error: 429 } };
  if (path !== '/r/all/search' || !query.get('q'))
    return { status: 404, body: { message: 'Not Found', error: 404 } };
  return {
    body: { kind: 'Listing', data: { after: null, children: [{ kind: 't3', data: { title: 'Heddle' } }] } },
  };
};

/** docs.x.com: `max_results` is from 10 to 100. */
const x: SimulatedService = ({ path, query }) => {
  const size = Number(query.get('max_results') ?? 10);
  if (path !== '/2/tweets/search/recent' || !query.get('query') || size < 10 || size > 100)
    return { status: 400, body: { title: 'Invalid Request', detail: 'One or more parameters are invalid.' } };
  return { body: { data: [{ id: '1', text: 'Heddle' }], meta: { result_count: 1 } } };
};

/** learn.microsoft.com/linkedin: OpenID Connect. */
const linkedin: SimulatedService = ({ path }) =>
  path === '/v2/userinfo'
    ? { body: { sub: 'p1', name: 'Ada Lovelace', email: 'ada@example.com' } }
    : { status: 404, body: { message: 'Not found', status: 404 } };

/** docs.mistral.ai: a document is a URL; this simulation accepts only data URLs. */
const mistral: SimulatedService = ({ method, path, body }) => {
  const { type, document_url: url } = (body['document'] ?? {}) as { type?: string; document_url?: string };
  if (method !== 'POST' || path !== '/ocr') return { status: 404, body: { detail: 'Not Found' } };
  if (type !== 'document_url' || !url?.startsWith('data:application/pdf;base64,'))
    return { status: 422, body: { detail: [{ msg: 'Invalid document' }] } };
  const markdown = Buffer.from(url.split(',')[1] ?? '', 'base64')
    .toString('latin1')
    .slice(0, 100);
  return {
    body: {
      pages: [{ index: 0, markdown }],
      model: 'mistral-ocr-latest',
      usage_info: { pages_processed: 1 },
    },
  };
};

/** Simulated services that have state. */
const STATEFUL_SERVICES: { readonly [name: string]: () => SimulatedService } = {
  google_drive: createGoogleDrive,
  github: createGithub,
};

const STATELESS_SERVICES: { readonly [name: string]: SimulatedService } = {
  ...{ supabase, slack, google_sheets: sheets, google_calendar: calendar, gmail, notion, linear },
  ...{ firecrawl, airtable, reddit, x, linkedin, mistral },
};

/** Responses of services to calls above their rate limit; by default `DEFAULT_RATE_LIMIT_RESPONSE`. */
const RATE_LIMIT_RESPONSES: { readonly [name: string]: SimulatedResponse } = {
  linear: {
    status: 400,
    body: { errors: [{ message: 'Rate limit exceeded', extensions: { code: 'RATELIMITED' } }] },
  },
  slack: { status: 429, headers: { 'retry-after': '1' }, body: { ok: false, error: 'ratelimited' } },
  google_drive: {
    status: 403,
    body: {
      error: {
        code: 403,
        message: 'User Rate Limit Exceeded',
        errors: [{ domain: 'usageLimits', reason: 'userRateLimitExceeded' }],
      },
    },
  },
  github: {
    status: 403,
    // One second after the start of the test clock.
    headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' },
    body: { message: 'API rate limit exceeded for user ID 1.' },
  },
};
const DEFAULT_RATE_LIMIT_RESPONSE: SimulatedResponse = {
  status: 429,
  headers: { 'retry-after': '1' },
  body: { message: 'Too many requests' },
};

/** Responses of the services to an invalid token; by default status 401. */
const UNAUTHORIZED_RESPONSES: { readonly [name: string]: SimulatedResponse } = {
  slack: slackError('invalid_auth'),
  github: {
    status: 401,
    body: { message: 'Bad credentials', documentation_url: 'https://docs.github.com/rest' },
  },
  google_drive: googleError(401, 'UNAUTHENTICATED', 'Invalid Credentials'),
};

/** Returns whether the URL itself gives access, so that the request needs no token. */
const needsNoToken = ({ service, query }: SimulatedRequest): boolean =>
  service === 'google_drive' && query.has('upload_id');

/** A fault of the next `times` requests, after the first `skip`. */
interface Fault {
  times: number;
  skip: number;
}

/** Counts a request, and returns whether the fault affects it. */
function consumeFault(fault: Fault | undefined): boolean {
  if (!fault || fault.times === 0) return false;
  if (fault.skip > 0) {
    fault.skip -= 1;
    return false;
  }
  fault.times -= 1;
  return true;
}

/** Starts simulated services on this machine, at the paths `/NAME`. */
export async function startServices(): Promise<Services> {
  const requests: SimulatedRequest[] = [];
  const rateLimitFaults = new Map<string, Fault>();
  const redirects = new Map<string, string>();
  const lostResponseFaults = new Map<string, Fault>();
  const responseFaults = new Map<string, Fault & { response: SimulatedResponse }>();
  const services: { readonly [name: string]: SimulatedService } = {
    ...STATELESS_SERVICES,
    ...Object.fromEntries(Object.entries(STATEFUL_SERVICES).map(([name, create]) => [name, create()])),
  };
  const responseTo = (request: SimulatedRequest): SimulatedResponse => {
    const { service, headers } = request;
    const location = redirects.get(service);
    if (location !== undefined) return { status: 307, headers: { location }, body: null };
    const responseFault = responseFaults.get(service);
    if (responseFault && consumeFault(responseFault)) return responseFault.response;
    if (consumeFault(rateLimitFaults.get(service)))
      return RATE_LIMIT_RESPONSES[service] ?? DEFAULT_RATE_LIMIT_RESPONSE;
    if (headers.authorization !== `Bearer token-of-${service}` && !needsNoToken(request))
      return UNAUTHORIZED_RESPONSES[service] ?? { status: 401, body: { message: 'Unauthorized' } };
    return services[service]?.(request) ?? { status: 404, body: null };
  };
  const server = createServer((incomingRequest, response) => {
    const chunks: Buffer[] = [];
    incomingRequest.on('data', (chunk: Buffer) => chunks.push(chunk));
    incomingRequest.on('end', () => {
      const url = new URL(incomingRequest.url ?? '/', 'http://localhost');
      const [, service = '', ...pathSegments] = url.pathname.split('/');
      const bytes = Buffer.concat(chunks);
      const isJson = String(incomingRequest.headers['content-type']).startsWith('application/json');
      const request: SimulatedRequest = {
        service,
        method: incomingRequest.method ?? '',
        path: `/${pathSegments.map(decodeURIComponent).join('/')}`,
        query: url.searchParams,
        headers: incomingRequest.headers,
        body: (isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : {}) as JsonObject,
        bytes,
        baseUrl: `http://${incomingRequest.headers.host}/${service}`,
      };
      requests.push(request);
      const { status = 200, headers = {}, body } = responseTo(request);
      if (consumeFault(lostResponseFaults.get(service))) return void incomingRequest.socket.destroy();
      return void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    requests,
    baseUrls: Object.fromEntries(Object.keys(services).map((name) => [name, `${origin}/${name}`])),
    rateLimitNext: (service, times, skip = 0) => void rateLimitFaults.set(service, { times, skip }),
    respondNext: (service, response, times = 1) =>
      void responseFaults.set(service, { response, times, skip: 0 }),
    dropNextResponses: (service, times, skip = 0) => void lostResponseFaults.set(service, { times, skip }),
    redirect: (service, location) => void redirects.set(service, location),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
