import { data, defineIntegration, flag, integer, bodyMembers, text } from './integration.ts';

export const integration = defineIntegration({
  service: 'firecrawl',
  title: 'Firecrawl',
  docsUrl: 'https://docs.firecrawl.dev/api-reference/introduction',
  baseUrl: 'https://api.firecrawl.dev',
  credential: { type: 'bearer', scopes: [] },
  answer: { ok: 'success', error: 'error' },
  types: ['firecrawl'],
  operations: { scrape: 'firecrawl_scrape', search: 'firecrawl_search', map: 'firecrawl_map' },
  tools: {
    firecrawl_scrape: {
      description: 'Returns a web page as Markdown.',
      method: 'POST',
      path: '/v2/scrape',
      arguments: {
        url: text('URL of the page', { required: true }),
        formats: data(
          { type: 'array', items: { type: 'string' } },
          'Formats of the result, such as ["html", "links"]; default ["markdown"]',
        ),
        onlyMainContent: flag('Whether to leave out headers, menus and footers; default true'),
        waitFor: integer('Delay before the page is read, in milliseconds', [0, 60_000]),
      },
      json: bodyMembers('url', 'formats', 'onlyMainContent', 'waitFor'),
      ...{ idempotent: true, readOnly: true },
      answer: { output: 'data' },
    },
    firecrawl_search: {
      description: 'Searches the web.',
      method: 'POST',
      path: '/v2/search',
      arguments: {
        query: text('Search query', { required: true }),
        limit: integer('Number of results, up to 100', [1, 100]),
      },
      json: bodyMembers('query', 'limit'),
      ...{ idempotent: true, readOnly: true },
      answer: { output: 'data' },
    },
    firecrawl_map: {
      description: 'Lists the URLs of a website.',
      method: 'POST',
      path: '/v2/map',
      arguments: {
        url: text('URL of the website', { required: true }),
        search: text('Words that the listed URLs contain'),
        limit: integer('Number of URLs, up to 5000', [1, 5000]),
      },
      json: bodyMembers('url', 'search', 'limit'),
      ...{ idempotent: true, readOnly: true },
      answer: { output: { links: 'links' } },
    },
  },
});
