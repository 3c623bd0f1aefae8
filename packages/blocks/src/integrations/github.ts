import { data, defineIntegration, integer, bodyMembers, text } from './integration.ts';

const repositoryArguments = {
  owner: text('User or organization that owns the repository', {
    required: true,
    schema: { pattern: '^[\\w.-]{1,100}$' },
  }),
  repo: text('Name of the repository', { required: true, schema: { pattern: '^[\\w.-]{1,100}$' } }),
};
const issueNumber = integer('Number of the issue or pull request', [1, 1_000_000_000], { required: true });
const pageArguments = {
  per_page: integer('Number of results per page, up to 100', [1, 100], { in: 'query' }),
  page: integer('If set, only the page with this number is fetched; the first page is 1', [1, 10_000], {
    in: 'query',
  }),
};
const pullNumber = integer('Number of the pull request', [1, 1_000_000_000], {
  required: true,
  name: 'pull_number',
});

export const integration = defineIntegration({
  service: 'github',
  title: 'GitHub',
  docsUrl: 'https://docs.github.com/rest',
  baseUrl: 'https://api.github.com',
  credential: { type: 'bearer', scopes: ['repo'] },
  answer: {
    errors: {
      // Rate limits have status 403 or 429. The response of a limit per period has a header with the end of the period,
      // the response of another limit has Retry-After.
      rate: ['API rate limit exceeded', 'secondary rate limit', 429],
      // The pull request cannot be merged.
      conflict: [405],
      invalid: [422],
    },
    reset: 'x-ratelimit-reset',
  },
  headers: { 'x-github-api-version': '2022-11-28', 'user-agent': 'heddle' },
  types: ['github', 'github_v2'],
  operations: {
    github_pr: 'github_pr',
    github_list_prs: 'github_list_prs',
    github_create_pr: 'github_create_pr',
    github_issue_comment: 'github_issue_comment',
    github_comment: 'github_issue_comment',
    github_get_issue: 'github_get_issue',
    github_create_issue: 'github_create_issue',
    github_list_issues: 'github_list_issues',
    github_repo_info: 'github_repo_info',
    github_get_file_content: 'github_get_file_content',
    github_merge_pr: 'github_merge_pr',
  },
  tools: {
    github_pr: {
      description: 'Returns a pull request.',
      method: 'GET',
      path: '/repos/{owner}/{repo}/pulls/{pull_number}',
      arguments: { ...repositoryArguments, pullNumber },
    },
    github_list_prs: {
      description: 'Lists pull requests.',
      method: 'GET',
      path: '/repos/{owner}/{repo}/pulls',
      arguments: {
        ...repositoryArguments,
        state: text('State of the pull requests: open, closed or all', {
          schema: { enum: ['open', 'closed', 'all'] },
        }),
        ...pageArguments,
      },
      paging: { by: 'link', argument: 'page', pages: 10 },
    },
    github_create_pr: {
      description: 'Creates a pull request.',
      method: 'POST',
      path: '/repos/{owner}/{repo}/pulls',
      arguments: {
        ...repositoryArguments,
        title: text('Title of the pull request', { required: true }),
        head: text('Branch with the changes', { required: true }),
        base: text('Branch to merge into', { required: true }),
        body: text('Description of the pull request, as Markdown'),
      },
      json: bodyMembers('title', 'head', 'base', 'body'),
    },
    github_merge_pr: {
      description: 'Merges a pull request.',
      method: 'PUT',
      path: '/repos/{owner}/{repo}/pulls/{pull_number}/merge',
      arguments: {
        ...repositoryArguments,
        pullNumber,
        merge_method: text('How to merge: merge, squash or rebase', {
          schema: { enum: ['merge', 'squash', 'rebase'] },
        }),
        commit_title: text('Title of the merge commit'),
      },
      json: bodyMembers('merge_method', 'commit_title'),
      idempotent: false,
    },
    github_issue_comment: {
      description: 'Adds a comment to an issue or a pull request.',
      method: 'POST',
      path: '/repos/{owner}/{repo}/issues/{issue_number}/comments',
      arguments: {
        ...repositoryArguments,
        issue_number: { ...issueNumber, fields: ['issue_number', 'pullNumber'] },
        body: text('Text of the comment, as Markdown', { required: true }),
      },
      json: bodyMembers('body'),
    },
    github_get_issue: {
      description: 'Returns an issue.',
      method: 'GET',
      path: '/repos/{owner}/{repo}/issues/{issue_number}',
      arguments: { ...repositoryArguments, issue_number: issueNumber },
    },
    github_create_issue: {
      description: 'Creates an issue.',
      method: 'POST',
      path: '/repos/{owner}/{repo}/issues',
      arguments: {
        ...repositoryArguments,
        title: text('Title of the issue', { required: true }),
        body: text('Description of the issue, as Markdown'),
        labels: data({ type: 'array', items: { type: 'string' } }, 'Names of the labels'),
        assignees: data({ type: 'array', items: { type: 'string' } }, 'User names of the assignees'),
      },
      json: bodyMembers('title', 'body', 'labels', 'assignees'),
    },
    github_list_issues: {
      description: 'Lists issues.',
      method: 'GET',
      path: '/repos/{owner}/{repo}/issues',
      arguments: {
        ...repositoryArguments,
        state: text('State of the issues: open, closed or all', {
          schema: { enum: ['open', 'closed', 'all'] },
        }),
        ...pageArguments,
      },
      paging: { by: 'link', argument: 'page', pages: 10 },
    },
    github_repo_info: {
      description: 'Returns information about a repository.',
      method: 'GET',
      path: '/repos/{owner}/{repo}',
      arguments: repositoryArguments,
    },
    github_get_file_content: {
      description: 'Returns a file of a repository.',
      method: 'GET',
      path: '/repos/{owner}/{repo}/contents/{path}',
      arguments: {
        ...repositoryArguments,
        path: text('Path of the file', { required: true }),
        ref: text('Branch, tag or commit to read from', { in: 'query' }),
      },
    },
  },
});
