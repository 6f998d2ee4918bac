// SPDX-License-Identifier: Apache-2.0
/** What a server knows of a webhook: one path that answers reviews. */
import type { Logger } from '../log/logger.ts';

/** A request as HTTP brings it. */
export interface ReviewBody {
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  readonly body: Buffer;
}

export interface ReviewAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** What a handler gets beside its request. */
export interface ReviewPorts {
  readonly logger: Logger;
  /** Aborts when the answer is no longer waited for. */
  readonly signal: AbortSignal;
}

/** Made by `conversionWebhook`, `validatingWebhook` or `mutatingWebhook`. */
export interface Webhook {
  /** Begins with a slash. */
  readonly path: string;
  /** Undefined: a conversion webhook, which the CustomResourceDefinition declares. */
  readonly admission: AdmissionDeclaration | undefined;
  readonly maxBodyBytes: (contentType: string | undefined) => number;
  /** Neither throws nor rejects, whatever the request is and whatever the handler does. */
  readonly answer: (request: ReviewBody, ports: ReviewPorts) => ReviewAnswer | Promise<ReviewAnswer>;
}

/** Kubelet asks there whether the server is ready. */
export const readyPath = '/readyz';

export interface AdmissionDeclaration {
  readonly kind: 'validating' | 'mutating';
  readonly path: string;
  /** In a ValidatingWebhookConfiguration or MutatingWebhookConfiguration, but for `clientConfig`. */
  readonly entry: Readonly<Record<string, unknown>>;
}
