// SPDX-License-Identifier: Apache-2.0
import { capacityFlows } from './capacity-flows.ts';
import { describePoints } from './describe-points.ts';

await describePoints(capacityFlows, 'e2e/src/simulation/capacity-crash-points.test.ts');
