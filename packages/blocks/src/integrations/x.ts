import { defineIntegration, integer, bodyMembers, text } from './integration.ts';

const POST_QUERY = { 'tweet.fields': 'author_id,created_at,public_metrics,lang' };

export const integration = defineIntegration({
  service: 'x',
  title: 'X',
  docsUrl: 'https://docs.x.com/x-api/introduction',
  baseUrl: 'https://api.x.com',
  credential: { type: 'bearer', scopes: ['tweet.read', 'users.read'] },
  types: ['x'],
  operations: {
    x_search_tweets: 'x_search_tweets',
    x_search: 'x_search_tweets',
    x_write: 'x_create_tweet',
    x_create_tweet: 'x_create_tweet',
    x_get_user: 'x_get_user',
  },
  tools: {
    x_search_tweets: {
      description: 'Finds posts of the last seven days.',
      method: 'GET',
      path: '/2/tweets/search/recent',
      query: POST_QUERY,
      arguments: {
        query: text('Search query, with the operators of X', { required: true }),
        max_results: integer('Number of posts, from 10 to 100', [10, 100], { fields: ['maxResults'] }),
        sort_order: text('Sort order: recency or relevancy', {
          fields: ['sortOrder'],
          schema: { enum: ['recency', 'relevancy'] },
        }),
        start_time: text('Time in RFC 3339 format; only posts after this time are returned', {
          fields: ['startTime'],
        }),
        end_time: text('Time in RFC 3339 format; only posts before this time are returned', {
          fields: ['endTime'],
        }),
        next_token: text('Cursor of the page to fetch, from the field "next_token" of the previous page', {
          fields: [],
        }),
      },
      answer: { output: { tweets: 'data', meta: 'meta' } },
    },
    x_create_tweet: {
      description: 'Publishes a post.',
      method: 'POST',
      path: '/2/tweets',
      arguments: { text: text('Text of the post', { required: true }) },
      json: bodyMembers('text'),
      answer: { output: 'data' },
    },
    x_get_user: {
      description: 'Returns a user by name.',
      method: 'GET',
      path: '/2/users/by/username/{username}',
      query: { 'user.fields': 'created_at,description,public_metrics' },
      arguments: {
        username: text('User name, without @', { required: true, schema: { pattern: '^\\w{1,15}$' } }),
      },
      answer: { output: 'data' },
    },
  },
});
