import { defineIntegration, integer, text } from './integration.ts';

const subreddit = text('Name of the community, without r/', {
  required: true,
  schema: { pattern: '^\\w{2,21}$' },
});
const pageArguments = {
  limit: integer('Number of posts per page, up to 100', [1, 100]),
  after: text('Cursor of the page to fetch, from the field "after" of the previous page', { fields: [] }),
};
const time = text('Period of the posts: hour, day, week, month, year or all', {
  name: 't',
  schema: { enum: ['hour', 'day', 'week', 'month', 'year', 'all'] },
});
const postsAnswer = { output: { posts: 'data.children', after: 'data.after' } };

export const integration = defineIntegration({
  service: 'reddit',
  title: 'Reddit',
  docsUrl: 'https://www.reddit.com/dev/api/',
  baseUrl: 'https://oauth.reddit.com',
  credential: { type: 'bearer', scopes: ['read'] },
  // Clients without their own User-Agent get lower limits.
  headers: { 'user-agent': 'node:heddle:v1 (workflow engine)' },
  types: ['reddit'],
  operations: { get_posts: 'reddit_get_posts', search: 'reddit_search', get_comments: 'reddit_get_comments' },
  tools: {
    reddit_search: {
      description: 'Finds posts in one community or in all communities.',
      method: 'GET',
      path: '/r/{subreddit}/search',
      query: { raw_json: '1', restrict_sr: '1' },
      arguments: {
        subreddit: text('Name of the community, without r/. The name "all" searches all communities', {
          required: true,
          schema: { pattern: '^\\w{2,21}$' },
        }),
        q: text('Search query', { required: true, fields: ['query'] }),
        sort: text('Sort order: relevance, hot, top, new or comments', {
          schema: { enum: ['relevance', 'hot', 'top', 'new', 'comments'] },
        }),
        time,
        ...pageArguments,
      },
      answer: postsAnswer,
    },
    reddit_get_posts: {
      description: 'Lists posts of a community.',
      method: 'GET',
      path: '/r/{subreddit}/{sort}',
      query: { raw_json: '1' },
      arguments: {
        subreddit,
        sort: text('Sort order: hot, new, top or rising', {
          required: true,
          schema: { enum: ['hot', 'new', 'top', 'rising'] },
        }),
        time,
        ...pageArguments,
      },
      answer: postsAnswer,
    },
    reddit_get_comments: {
      description: 'Returns a post with its comments.',
      method: 'GET',
      path: '/r/{subreddit}/comments/{postId}',
      query: { raw_json: '1' },
      arguments: {
        subreddit,
        postId: text('Id of the post', { required: true, schema: { pattern: '^\\w{1,20}$' } }),
        limit: integer('Number of comments, up to 100', [1, 100]),
      },
    },
  },
});
