// SPDX-License-Identifier: Apache-2.0
/** A service of one method that answers with what it got, for tests of the transport. */
import { type UnaryMethod, methodCodecs } from '../src/index.ts';

export const echoPath = '/test.Echo/Say';

export const echoDescriptor = {
  nested: {
    test: {
      nested: {
        Text: { fields: { text: { type: 'string', id: 1 } } },
        Echo: { methods: { Say: { requestType: 'Text', responseType: 'Text' } } },
      },
    },
  },
} as const;

export interface Text {
  readonly text: string;
}

export const echoCodec: UnaryMethod['codec'] = methodCodecs(echoDescriptor)(echoPath)!;

export function echoMethods(handle: (request: Text) => Text = (request) => request): ReadonlyMap<string, UnaryMethod> {
  return new Map([[echoPath, { codec: echoCodec, handle: (request) => handle(request as Text) }]]);
}
