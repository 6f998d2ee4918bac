// SPDX-License-Identifier: Apache-2.0
/**
 * Webhooks of an operator. A door of its own: most controllers have none, and so load neither its server nor TLS for it.
 */
export { defineWebhooks } from './webhooks.ts';
export type { ServedWebhooks, Webhooks, WebhooksDeps, WebhooksSpec } from './webhooks.ts';
export type { WebhookLimits } from './server.ts';
export { mutatingWebhook, validatingWebhook } from './admission-webhook.ts';
export type {
  AdmissionConfiguration,
  AdmissionSpec,
  AdmissionWebhook,
  MutatingSpec,
  ValidatingSpec,
} from './admission-webhook.ts';
export { allowed, changed, denied } from './verdict.ts';
export type { Allowed, Changed, Denied, Mutation, Remarks, Verdict } from './verdict.ts';
export { conversionWebhook } from './conversion-webhook.ts';
export type { Conversion, ConversionSpec, ConversionWebhook } from './conversion-webhook.ts';
export type { JsonObject } from './read-review.ts';
export type {
  AdmissionFacts,
  AdmissionRequest,
  AdmissionResponse,
  AdmissionReview,
  ConversionRequest,
  ConversionResponse,
  ConversionReview,
  GroupVersionKind,
  GroupVersionResource,
  ObjectsOf,
  Operation,
  UserInfo,
} from './reviews.ts';
export type { AdmissionDeclaration, ReviewAnswer, ReviewBody, ReviewPorts, Webhook } from './webhook.ts';
export type { Declared } from './admission-request.ts';
