/** A receiver of webhook requests from other systems. A host provides its store. */
export { waitForRunResponse } from './areas/runs/run-response.ts';
export { ApiError } from './errors.ts';
export { WEBHOOK_PREFIX, webhookReceiver } from './webhooks/receiver.ts';
export type { WebhookReceiver, WebhookReceiverOptions, WebhookRequestDetails } from './webhooks/receiver.ts';
export type { WebhookLimits } from './webhooks/body.ts';
export type {
  AcceptedEvent,
  DeliveredFile,
  FoundWebhook,
  ParsedDelivery,
  UnverifiedDelivery,
  WebhookEvent,
  WebhookAction,
  WebhookReply,
  WebhookStore,
  WebhookType,
} from './webhooks/port.ts';
