import { data, defineIntegration, integer, bodyMembers, text } from './integration.ts';

export const integration = defineIntegration({
  service: 'tavily',
  title: 'Tavily',
  docsUrl: 'https://docs.tavily.com/documentation/api-reference/introduction',
  baseUrl: 'https://api.tavily.com',
  credential: { type: 'bearer', scopes: [] },
  types: ['tavily'],
  operations: { tavily_search: 'tavily_search', tavily_extract: 'tavily_extract' },
  tools: {
    tavily_search: {
      description: 'Searches the web.',
      method: 'POST',
      path: '/search',
      arguments: {
        query: text('Search query', { required: true }),
        max_results: integer('Number of results, up to 20', [1, 20], { fields: ['maxResults'] }),
      },
      json: bodyMembers('query', 'max_results'),
      ...{ idempotent: true, readOnly: true },
      answer: { output: { query: 'query', results: 'results', answer: 'answer' } },
    },
    tavily_extract: {
      description: 'Returns the text of web pages.',
      method: 'POST',
      path: '/extract',
      arguments: {
        urls: data(
          { type: 'array', minItems: 1, maxItems: 20, items: { type: 'string' } },
          'URLs of the pages, up to 20',
          { required: true },
        ),
      },
      json: bodyMembers('urls'),
      ...{ idempotent: true, readOnly: true },
      answer: { output: { results: 'results', failed_results: 'failed_results' } },
    },
  },
});
