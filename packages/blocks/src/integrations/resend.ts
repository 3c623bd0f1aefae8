import { arg, defineIntegration, text } from './integration.ts';

export const integration = defineIntegration({
  service: 'resend',
  title: 'Resend',
  docsUrl: 'https://resend.com/docs/api-reference/introduction',
  baseUrl: 'https://api.resend.com',
  credential: { type: 'bearer', scopes: [] },
  types: ['resend'],
  operations: { send_email: 'resend_send', get_email: 'resend_get_email' },
  tools: {
    resend_send: {
      description: 'Sends an email message.',
      method: 'POST',
      path: '/emails',
      // A repeated call with the same key, within a day, sends no second message.
      keyHeader: 'Idempotency-Key',
      arguments: {
        from: text('Email address of the sender', { required: true, fields: ['fromAddress'] }),
        to: text('Email address of the recipient', { required: true }),
        subject: text('Subject of the message', { required: true }),
        text: text('Body of the message', { fields: ['body'], required: true }),
      },
      json: { from: arg('from'), to: [arg('to')], subject: arg('subject'), text: arg('text') },
    },
    resend_get_email: {
      description: 'Returns an email message that was sent.',
      method: 'GET',
      path: '/emails/{id}',
      arguments: { id: text('Id of the message', { required: true, fields: ['emailId'] }) },
    },
  },
});
