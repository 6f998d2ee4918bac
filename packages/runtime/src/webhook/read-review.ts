// SPDX-License-Identifier: Apache-2.0
/** From the body of a request to the request of a review, and from a review to an answer. Pure. */
import { acceptedFormat, type Format, formatOf, type Formats, hasTooManyValues } from './media.ts';
import type { ReviewAnswer, ReviewBody } from './webhook.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface ReviewKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly formats: Formats;
  readonly maxValues: number;
}

/** `format`: of the answer. */
export type ReviewRead = { readonly request: JsonObject; readonly format: Format } | { readonly refused: ReviewAnswer };

export const tooLarge: ReviewAnswer = textAnswer(413, 'the body is too large');

/** The first of these that holds is the answer: a type that is not read, too large, unreadable, another kind, a type that is not written. */
export function readReview({ contentType, accept, body }: ReviewBody, wanted: ReviewKind): ReviewRead {
  const { formats, maxValues } = wanted;
  const format = formatOf(formats, contentType);
  if (format === undefined) return refused(`invalid Content-Type header \`${contentType ?? ''}\``);
  if (hasTooManyValues(body, maxValues)) return { refused: tooLarge };
  let review: unknown;
  try {
    review = format.decode(body);
  } catch (error) {
    return { refused: unreadable(body, error) };
  }
  if (!isObject(review)) return { refused: unreadable(body, new Error('no object')) };
  const { apiVersion, kind, request } = review;
  if (apiVersion !== wanted.apiVersion || kind !== wanted.kind) {
    return refused(`Unsupported group version kind: ${String(apiVersion)}, Kind=${String(kind)}`);
  }
  if (!isObject(request)) return refused(`the ${wanted.kind} has no request`);
  const accepted = acceptedFormat(formats, accept);
  if (accepted === undefined) return refused(`invalid accept header \`${accept ?? ''}\``);
  return { request, format: accepted };
}

export function writtenReview({ contentType, encode }: Format, review: object): ReviewAnswer {
  return { status: 200, contentType, body: encode(review) };
}

/** Also for a body that is nested deeper than the stack can follow. */
export function unreadable(body: Buffer, error: unknown): ReviewAnswer {
  return textAnswer(400, `failed to deserialize body (${body.length} bytes) with error ${messageOf(error)}`);
}

export function textAnswer(status: number, text: string): ReviewAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${text}\n` };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(text: string): ReviewRead {
  return { refused: textAnswer(400, text) };
}
