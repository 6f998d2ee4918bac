// SPDX-License-Identifier: Apache-2.0
/** Objects of a custom resource from one version to another, for the API server, which calls it whenever it reads or writes an object in another version than the stored one. */
import { type Logger, silentLogger } from '../log/logger.ts';
import { type Formats, jsonFormat, maxBodyBytes } from './media.ts';
import { isObject, type JsonObject, messageOf, readReview, unreadable, writtenReview } from './read-review.ts';
import type { ConversionResponse, ConversionReview } from './reviews.ts';
import type { ReviewAnswer, ReviewBody, ReviewPorts, Webhook } from './webhook.ts';

/** `failure` is what the user of the object sees. */
export type Conversion<C extends object = object> = { readonly converted: C } | { readonly failure: string };

export interface ConversionSpec<T> {
  /** Default `/convert`. */
  readonly path?: string;
  /**
   * Gets an object in any version of the resource. What it returns has the wanted `apiVersion`, and the metadata but for labels and annotations
   * unchanged. It is synchronous: the API server waits for it with every request. What it throws is logged, and a failure.
   */
  readonly convert: (object: T, desiredApiVersion: string) => Conversion;
}

export interface ConversionWebhook extends Webhook {
  readonly admission: undefined;
  readonly answer: (request: ReviewBody, ports?: Pick<ReviewPorts, 'logger'>) => ReviewAnswer;
}

/** The API server may send the objects of a list in one review. */
export const conversionBytes: number = 4 * 1024 * 1024;
const maxValues = 200_000;
const { apiVersion, kind } = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' } as const;

/** All or nothing: the first object that cannot be converted is the answer. `T` is a union of the versions, if there are types of them. */
export function conversionWebhook<T = JsonObject>({
  path = '/convert',
  convert,
}: ConversionSpec<T>): ConversionWebhook {
  return conversionIn<T>([jsonFormat(conversionBytes)], path, (object, wanted, { logger, uid }) => {
    try {
      return convert(object, wanted);
    } catch (error) {
      logger.error(error, 'Webhook failed', { path, uid });
      return { failure: messageOf(error) };
    }
  });
}

type Convert<T> = (object: T, wanted: string, review: { readonly logger: Logger; readonly uid: unknown }) => Conversion;

/** With other formats than JSON. The API server needs none. A review whose conversion throws is refused with 400. */
export function conversionIn<T = JsonObject>(formats: Formats, path: string, convert: Convert<T>): ConversionWebhook {
  const answer = (body: ReviewBody, { logger } = { logger: silentLogger }): ReviewAnswer => {
    const read = readReview(body, { apiVersion, kind, formats, maxValues });
    if ('refused' in read) return read.refused;
    const { uid = '' } = read.request;
    const converted = convertAll<T>(read.request, (object, wanted) => convert(object, wanted, { logger, uid }));
    const response = { uid: uid as string, ...converted };
    // The request is not needed in an answer.
    const request = { uid: '', desiredAPIVersion: '', objects: null };
    return writtenReview(read.format, { kind, apiVersion, request, response } satisfies Answered);
  };
  return {
    path,
    admission: undefined,
    maxBodyBytes: (contentType) => maxBodyBytes(formats, contentType),
    answer: (body, ports) => {
      try {
        return answer(body, ports);
      } catch (error) {
        return unreadable(body.body, error);
      }
    },
  };
}

type Answered = Required<Omit<ConversionReview<object>, 'request'>> & { readonly request: object };

function convertAll<T>(
  { desiredAPIVersion, objects }: JsonObject,
  convert: (object: T, wanted: string) => Conversion,
): Omit<ConversionResponse<object>, 'uid'> {
  const convertedObjects: object[] = [];
  for (const object of Array.isArray(objects) ? (objects as readonly unknown[]) : []) {
    const conversion = isObject(object)
      ? convert(object as T, typeof desiredAPIVersion === 'string' ? desiredAPIVersion : '')
      : { failure: 'failed to unmarshall object: it is no object' };
    if ('failure' in conversion) {
      return { convertedObjects: null, result: { metadata: {}, status: 'Failure', message: conversion.failure } };
    }
    convertedObjects.push(conversion.converted);
  }
  return { convertedObjects, result: { metadata: {}, status: 'Success' } };
}
