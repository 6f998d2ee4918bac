// SPDX-License-Identifier: Apache-2.0
/** Which claims the claim loop works on. The cache has them whole; of any other claim it has at most what protects sources. */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { isOurs } from './claim.ts';
import { isProtected } from './protection.ts';

export function isWorkedOn(claim: PersistentVolumeClaim, driverName: string): boolean {
  const isWaiting = (claim.spec?.volumeName ?? '') === '' && isOurs(claim, driverName);
  return isWaiting || isProtected(claim, driverName);
}
