import type { Json, JsonObject } from '@heddle/core';
import { textOf } from './simulated-service.ts';
import type { SimulatedService, SimulatedRequest, SimulatedResponse } from './simulated-service.ts';

interface Issue extends JsonObject {
  number: number;
  title: string;
  state: string;
}

const errorResponse = (status: number, message: string, details: JsonObject = {}): SimulatedResponse => ({
  status,
  body: { message, documentation_url: 'https://docs.github.com/rest', status: String(status), ...details },
});
const NOT_FOUND = errorResponse(404, 'Not Found');
const MAX_PAGE_SIZE = 100;

/**
 * Simulates the API of docs.github.com/rest: requests need a user agent, lists have the URL of the next page in the
 * header Link, failures have a message, and rate limits have status 403 and a header with the time when they end.
 */
export function createGithub(): SimulatedService {
  const issues: Issue[] = [1, 2, 3, 4, 5].map((number) => ({
    number,
    title: `Issue ${number}`,
    state: 'open',
  }));
  const pulls: Issue[] = [
    { number: 6, title: 'Mergeable', state: 'open', mergeable: true },
    { number: 7, title: 'Conflicting', state: 'open', mergeable: false },
  ];

  const listPage = (
    items: readonly Issue[],
    { baseUrl, path, query }: SimulatedRequest,
  ): SimulatedResponse => {
    const state = query.get('state') ?? 'open';
    const size = Math.min(MAX_PAGE_SIZE, Number(query.get('per_page') ?? 30));
    const page = Number(query.get('page') ?? 1);
    const matchingItems = items.filter((item) => state === 'all' || item.state === state);
    const lastPage = Math.max(1, Math.ceil(matchingItems.length / size));
    const link = (linkedPage: number, rel: string): string => {
      const linkQuery = new URLSearchParams(query);
      linkQuery.set('page', String(linkedPage));
      return `<${baseUrl}${path}?${linkQuery.toString()}>; rel="${rel}"`;
    };
    const links = page < lastPage ? [link(page + 1, 'next'), link(lastPage, 'last')] : [link(1, 'first')];
    return {
      headers: { ...(lastPage > 1 && { link: links.join(', ') }) },
      body: matchingItems.slice((page - 1) * size, page * size),
    };
  };

  const create = (
    items: Issue[],
    { body }: SimulatedRequest,
    requiredFields: readonly string[],
  ): SimulatedResponse => {
    const missingFields = requiredFields.filter(
      (field) => typeof body[field] !== 'string' || body[field] === '',
    );
    if (missingFields.length > 0)
      return errorResponse(422, 'Validation Failed', {
        errors: missingFields.map((field): Json => ({ resource: 'Issue', field, code: 'missing_field' })),
      });
    const issue = {
      ...body,
      number: issues.length + pulls.length + 1,
      title: textOf(body['title']),
      state: 'open',
    };
    items.push(issue);
    return { status: 201, body: issue };
  };

  const merge = (number: number): SimulatedResponse => {
    const pull = pulls.find((candidate) => candidate.number === number);
    if (!pull) return NOT_FOUND;
    if (pull['mergeable'] !== true) return errorResponse(405, 'Pull Request is not mergeable');
    pull.state = 'closed';
    return { body: { sha: 'abc', merged: true, message: 'Pull Request successfully merged' } };
  };

  const get = (items: readonly Issue[], number: number): SimulatedResponse => {
    const issue = items.find((item) => item.number === number);
    return issue ? { body: issue } : NOT_FOUND;
  };

  const routes: readonly [
    RegExp,
    (request: SimulatedRequest, match: RegExpExecArray) => SimulatedResponse,
  ][] = [
    [/^GET $/, () => ({ body: { full_name: 'ada/loom', default_branch: 'main' } })],
    [/^GET \/issues$/, (request) => listPage([...issues, ...pulls], request)],
    [/^POST \/issues$/, (request) => create(issues, request, ['title'])],
    [/^GET \/issues\/(\d+)$/, (_, [, number]) => get([...issues, ...pulls], Number(number))],
    [
      /^POST \/issues\/\d+\/comments$/,
      ({ body }) =>
        typeof body['body'] === 'string'
          ? { status: 201, body: { id: 1, body: body['body'] } }
          : errorResponse(422, 'Validation Failed'),
    ],
    [/^GET \/pulls$/, (request) => listPage(pulls, request)],
    [/^POST \/pulls$/, (request) => create(pulls, request, ['title', 'head', 'base'])],
    [/^GET \/pulls\/(\d+)$/, (_, [, number]) => get(pulls, Number(number))],
    [/^PUT \/pulls\/(\d+)\/merge$/, (_, [, number]) => merge(Number(number))],
    [
      /^GET \/contents\/README\.md$/,
      () => ({
        body: { name: 'README.md', encoding: 'base64', content: Buffer.from('# Loom').toString('base64') },
      }),
    ],
  ];

  return (request) => {
    const { method, path, headers } = request;
    if (!headers['user-agent']) return errorResponse(403, 'Request forbidden by administrative rules.');
    if (headers['x-github-api-version'] !== '2022-11-28')
      return errorResponse(400, 'Unsupported API version');
    const [, subpath] = /^\/repos\/ada\/loom(|\/.*)$/.exec(path) ?? [];
    if (subpath === undefined) return NOT_FOUND;
    for (const [pattern, respond] of routes) {
      const match = pattern.exec(`${method} ${subpath}`);
      if (match) return respond(request, match);
    }
    return NOT_FOUND;
  };
}
