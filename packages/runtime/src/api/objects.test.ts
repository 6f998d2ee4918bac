// SPDX-License-Identifier: Apache-2.0
import { expectTypeOf, it } from 'vitest';
import type { CustomResourceDefinition, NetworkPolicy } from './common-resources.ts';

type Ingress = NonNullable<NonNullable<NetworkPolicy['spec']>['ingress']>[number];
type Version = CustomResourceDefinition['spec']['versions'][number];
type Schema = NonNullable<NonNullable<Version['schema']>['openAPIV3Schema']>;

// `npm run check` compiles it.
it('given fields that client-node has under other names, then their names are those of the wire', () => {
  expectTypeOf<Ingress>().toHaveProperty('from');
  expectTypeOf<Schema>().toHaveProperty('default');
  expectTypeOf<Schema['x-kubernetes-preserve-unknown-fields']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<Extract<keyof Schema | keyof Ingress, `_${string}` | `x_${string}`>>().toBeNever();
});
