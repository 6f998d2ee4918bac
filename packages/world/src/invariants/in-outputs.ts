// SPDX-License-Identifier: Apache-2.0
/** `secret`: what stands in a Secret is seen in no log line and in no other object of the API, events included. */
import { stringifyJson } from '@csi-sidecars/runtime';
import type { FakeApiServer } from '@csi-sidecars/runtime/testing';
import { secretText } from '../names.ts';

const encoded = Buffer.from(secretText).toString('base64');

export function hasSecret(text: string): boolean {
  return text.includes(secretText) || text.includes(encoded);
}

export function lookForSecrets(line: string, breach: (text: string) => void): void {
  if (hasSecret(line)) breach(`secret: a log line has one: ${line}`);
}

export function secretsInObjects({ objects, types }: Pick<FakeApiServer, 'objects' | 'types'>): readonly string[] {
  return types()
    .filter(({ kind }) => kind !== 'Secret')
    .flatMap((type) => objects.list(type))
    .filter((object) => hasSecret(stringifyJson(object)))
    .map(({ kind, metadata }) => `secret: ${kind} ${metadata?.name} has one`);
}
