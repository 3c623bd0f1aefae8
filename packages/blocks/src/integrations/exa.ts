import { arg, data, defineIntegration, integer, bodyMembers, text } from './integration.ts';

export const integration = defineIntegration({
  service: 'exa',
  title: 'Exa',
  docsUrl: 'https://docs.exa.ai/reference',
  baseUrl: 'https://api.exa.ai',
  credential: { type: 'key', in: 'header', name: 'x-api-key' },
  types: ['exa'],
  operations: { exa_search: 'exa_search', exa_get_contents: 'exa_get_contents', exa_answer: 'exa_answer' },
  tools: {
    exa_search: {
      description: 'Searches the web.',
      method: 'POST',
      path: '/search',
      arguments: {
        query: text('Search query', { required: true }),
        numResults: integer('Number of results, up to 100', [1, 100]),
        type: text('Type of the search: auto, neural, keyword or fast', {
          schema: { enum: ['auto', 'neural', 'keyword', 'fast'] },
        }),
      },
      json: bodyMembers('query', 'numResults', 'type'),
      ...{ idempotent: true, readOnly: true },
      answer: { output: { results: 'results' } },
    },
    exa_get_contents: {
      description: 'Returns the text of web pages.',
      method: 'POST',
      path: '/contents',
      arguments: {
        urls: data(
          { type: 'array', minItems: 1, maxItems: 100, items: { type: 'string' } },
          'URLs of the pages, up to 100',
          { required: true },
        ),
      },
      json: { urls: arg('urls'), text: true },
      ...{ idempotent: true, readOnly: true },
      answer: { output: { results: 'results' } },
    },
    exa_answer: {
      description: 'Answers a question with information from the web, and returns the sources of the answer.',
      method: 'POST',
      path: '/answer',
      arguments: { query: text('Question to answer', { required: true }) },
      json: bodyMembers('query'),
      ...{ idempotent: true, readOnly: true },
      answer: { output: { answer: 'answer', citations: 'citations' } },
    },
  },
});
