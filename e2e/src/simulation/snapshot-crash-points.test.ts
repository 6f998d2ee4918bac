// SPDX-License-Identifier: Apache-2.0
import { describePoints } from './describe-points.ts';
import { snapshotFlows } from './snapshot-flows.ts';

await describePoints(snapshotFlows, 'e2e/src/simulation/snapshot-crash-points.test.ts');
