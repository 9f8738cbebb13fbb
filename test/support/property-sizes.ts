import fc from 'fast-check';

// By default fast-check generates at most ten elements beyond `minLength`, whatever `maxLength` is.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });
