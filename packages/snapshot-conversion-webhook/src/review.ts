// SPDX-License-Identifier: Apache-2.0
/** A request to /convert and its answer. Pure. */
import { convert, isObject, type JsonObject } from './convert.ts';
import { acceptedFormat, decode, encode, type Format, formatOf, hasTooManyValues } from './media.ts';

export interface ConvertRequest {
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export const tooLarge: Answer = {
  status: 413,
  contentType: 'text/plain; charset=utf-8',
  body: 'the body is too large\n',
};

const reviewVersion = 'apiextensions.k8s.io/v1';

/** Never throws. A body may be nested deeper than the stack can follow. */
export function answerReview(request: ConvertRequest): Answer {
  try {
    return answer(request);
  } catch (error) {
    return refusal(unreadable(request.body, error));
  }
}

function answer({ contentType, accept, body }: ConvertRequest): Answer {
  const format = formatOf(contentType);
  if (format === undefined) return refusal(`invalid Content-Type header \`${contentType ?? ''}\``);
  if (hasTooManyValues(body)) return tooLarge;
  const review = read(body, format);
  if ('failure' in review) return refusal(review.failure);
  const wanted = acceptedFormat(accept);
  if (wanted === undefined) return refusal(`invalid accept header \`${accept ?? ''}\``);
  const response = { uid: review.request['uid'] ?? '', ...convertAll(review.request) };
  const answered = {
    kind: 'ConversionReview',
    apiVersion: reviewVersion,
    // Not needed in an answer.
    request: { uid: '', desiredAPIVersion: '', objects: null },
    response,
  };
  return { status: 200, contentType: wanted, body: encode(answered, wanted) };
}

type Read = { readonly request: JsonObject } | { readonly failure: string };

function read(body: Buffer, format: Format): Read {
  let review: unknown;
  try {
    review = decode(body, format);
  } catch (error) {
    return { failure: unreadable(body, error) };
  }
  if (!isObject(review)) return { failure: unreadable(body, new Error('no object')) };
  const { apiVersion, kind, request } = review;
  if (apiVersion !== reviewVersion || kind !== 'ConversionReview') {
    return { failure: `Unsupported group version kind: ${String(apiVersion)}, Kind=${String(kind)}` };
  }
  return isObject(request) ? { request } : { failure: 'the ConversionReview has no request' };
}

function unreadable(body: Buffer, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `failed to deserialize body (${body.length} bytes) with error ${reason}`;
}

/** All or nothing: the first object that cannot be converted is the answer. */
function convertAll({ desiredAPIVersion, objects }: JsonObject): JsonObject {
  const convertedObjects: JsonObject[] = [];
  for (const object of Array.isArray(objects) ? (objects as readonly unknown[]) : []) {
    const conversion = isObject(object)
      ? convert(object, typeof desiredAPIVersion === 'string' ? desiredAPIVersion : '')
      : { failure: 'failed to unmarshall object: it is no object' };
    if ('failure' in conversion) {
      return { convertedObjects: null, result: { metadata: {}, status: 'Failure', message: conversion.failure } };
    }
    convertedObjects.push(conversion.converted);
  }
  return { convertedObjects, result: { metadata: {}, status: 'Success' } };
}

function refusal(text: string): Answer {
  return { status: 400, contentType: 'text/plain; charset=utf-8', body: `${text}\n` };
}
