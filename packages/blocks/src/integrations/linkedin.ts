import { arg, defineIntegration, text } from './integration.ts';

export const integration = defineIntegration({
  service: 'linkedin',
  title: 'LinkedIn',
  docsUrl: 'https://learn.microsoft.com/en-us/linkedin/consumer/',
  baseUrl: 'https://api.linkedin.com',
  credential: { type: 'bearer', scopes: ['openid', 'profile', 'email', 'w_member_social'] },
  headers: { 'x-restli-protocol-version': '2.0.0' },
  types: ['linkedin'],
  operations: { get_profile: 'linkedin_get_profile', share_post: 'linkedin_share_post' },
  tools: {
    linkedin_get_profile: {
      description: 'Returns the profile of the person to whom the credential belongs.',
      method: 'GET',
      path: '/v2/userinfo',
      arguments: {},
    },
    linkedin_share_post: {
      description: 'Publishes a post.',
      method: 'POST',
      path: '/v2/ugcPosts',
      arguments: {
        author: text('URN of the author, such as urn:li:person:ID', { required: true }),
        text: text('Text of the post', { required: true }),
        visibility: text('Who can see the post: PUBLIC or CONNECTIONS', {
          required: true,
          schema: { enum: ['PUBLIC', 'CONNECTIONS'] },
        }),
      },
      json: {
        author: arg('author'),
        lifecycleState: 'PUBLISHED',
        specificContent: {
          'com.linkedin.ugc.ShareContent': {
            shareCommentary: { text: arg('text') },
            shareMediaCategory: 'NONE',
          },
        },
        visibility: { 'com.linkedin.ugc.MemberNetworkVisibility': arg('visibility') },
      },
    },
  },
});
