// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

// kind is what a value means.
type kind uint8

const (
	kindNone kind = iota
	kindNumber
	kindAddress
	kindAddressIndex
	kindText       // in bytes
	kindTextOffset // in .debug_str
	kindLineTextOffset
	kindTextIndex
	kindReference // an offset in .debug_info
	kindOffset    // in the section that the attribute says
	kindListIndex
	kindElsewhere // in a file that is not read: an alternate of dwz, or a type unit
)

// value is that of an attribute.
type value struct {
	kind   kind
	number uint64
	bytes  []byte
}

// formSize returns the size of a form, or -1 if it varies.
func (u *unit) formSize(form uint16) int {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return u.addressSize
	case formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return u.offsetSize
	case formRefAddr:
		if u.version < 3 {
			return u.addressSize
		}
		return u.offsetSize
	}
	return -1
}

// kinds are those of forms with a fixed size. Others are numbers.
var kinds = map[uint16]kind{
	formAddr: kindAddress, formStrp: kindTextOffset, formLineStrp: kindLineTextOffset, formSecOffset: kindOffset, formRefAddr: kindReference,
	formStrx1: kindTextIndex, formStrx2: kindTextIndex, formStrx3: kindTextIndex, formStrx4: kindTextIndex,
	formAddrx1: kindAddressIndex, formAddrx2: kindAddressIndex, formAddrx3: kindAddressIndex, formAddrx4: kindAddressIndex,
	formRefSup4: kindElsewhere, formRefSup8: kindElsewhere, formRefSig8: kindElsewhere, formStrpSup: kindElsewhere,
	formGNURefAlt: kindElsewhere, formGNUStrpAlt: kindElsewhere, formData16: kindNone,
}

// value reads the value of a form.
func (u *unit) value(c *cursor, at attribute) (v value) {
	form := at.form
	for range 4 { // of formIndirect, of which more than one makes no sense
		if form != formIndirect {
			break
		}
		form = uint16(min(c.unsigned(), 0xffff))
	}
	switch form {
	case formImplicitConst:
		return value{kind: kindNumber, number: uint64(at.constant)}
	case formFlagPresent:
		return value{kind: kindNumber, number: 1}
	case formRef1, formRef2, formRef4, formRef8:
		return value{kind: kindReference, number: u.offset + c.number(u.formSize(form))}
	case formRefUdata:
		return value{kind: kindReference, number: u.offset + c.unsigned()}
	case formData16:
		c.skip(16)
		return value{}
	}
	if size := u.formSize(form); size > 0 {
		k, found := kinds[form]
		if !found {
			k = kindNumber
		}
		return value{kind: k, number: c.number(size)}
	}
	return u.variable(c, form)
}

// variable reads the value of a form whose size varies.
func (u *unit) variable(c *cursor, form uint16) value {
	switch form {
	case formString:
		return value{kind: kindText, bytes: c.text()}
	case formUdata:
		return value{kind: kindNumber, number: c.unsigned()}
	case formSdata:
		return value{kind: kindNumber, number: uint64(c.signed())}
	case formStrx, formGNUStrIndex:
		return value{kind: kindTextIndex, number: c.unsigned()}
	case formAddrx, formGNUAddrIndex:
		return value{kind: kindAddressIndex, number: c.unsigned()}
	case formRnglistx, formLoclistx:
		return value{kind: kindListIndex, number: c.unsigned()}
	case formBlock1:
		c.skip(c.number(1))
	case formBlock2:
		c.skip(c.number(2))
	case formBlock4:
		c.skip(c.number(4))
	case formBlock, formExprloc:
		c.skip(c.unsigned())
	default:
		c.failed = true
	}
	return value{}
}
