use std::fmt::Write;

use parquet::arrow::parquet_to_arrow_schema;

use super::{as_of_crate, build, build_offsets, offsets, parse, render};
use crate::error::Error;

/// Checks the tree, and that its schema equals the `parquet` crate's.
fn assert_tree(message: &str, expected: &str) {
    let (schema, nodes) = build_offsets(message);
    assert_eq!(render(&nodes), expected);
    assert_eq!(as_of_crate(&schema), parquet_to_arrow_schema(&parse(message), None).unwrap());
}

#[test]
fn flat_columns_have_a_definition_level_where_they_are_optional() {
    assert_tree("message m { required int32 a; optional binary b (STRING); }", "a:0/0/0#0 b:1/0/0#1");
}

#[test]
fn optional_structs_add_a_definition_level() {
    assert_tree(
        "message m { optional group s { required int32 a; optional group t { optional int32 b; } } }",
        "s:1/0/0{a:1/0/0#0 t:2/0/0{b:3/0/0#1}}",
    );
}

#[test]
fn three_level_lists_skip_the_repeated_group() {
    assert_tree(
        "message m { optional group l (LIST) { repeated group list { optional int32 element; } } }",
        "l:1/0/0[2 element:3/1/2#0]",
    );
    assert_tree(
        "message m { required group l (LIST) { repeated group list { required int32 element; } } }",
        "l:0/0/0[1 element:1/1/1#0]",
    );
}

#[test]
fn lists_of_lists_of_structs_count_every_level() {
    assert_tree(
        "message m { optional group l (LIST) { repeated group list { optional group element (LIST) {
           repeated group list { optional group element { required int32 x; optional double y; } } } } } }",
        "l:1/0/0[2 element:3/1/2[4 element:5/2/4{x:5/2/4#0 y:6/2/4#1}]]",
    );
}

#[test]
fn a_repeated_primitive_in_a_list_is_its_element() {
    assert_tree(
        "message m { optional group my_list (LIST) { repeated int32 element; } }",
        "my_list:1/0/0[2 element:2/1/2#0]",
    );
}

#[test]
fn a_repeated_group_of_several_fields_is_the_element() {
    assert_tree(
        "message m { optional group my_list (LIST) { repeated group element {
           required binary str (STRING); required int32 num; } } }",
        "my_list:1/0/0[2 element:2/1/2{str:2/1/2#0 num:2/1/2#1}]",
    );
}

#[test]
fn a_repeated_group_named_array_or_tuple_is_the_element() {
    for name in ["array", "my_list_tuple"] {
        assert_tree(
            &format!(
                "message m {{ optional group my_list (LIST) {{ repeated group {name} {{ required int32 num; }} }} }}"
            ),
            &format!("my_list:1/0/0[2 {name}:2/1/2{{num:2/1/2#0}}]"),
        );
    }
    assert_tree(
        "message m { optional group my_list (LIST) { repeated group other_tuple { required int32 num; } } }",
        "my_list:1/0/0[2 num:2/1/2#0]",
    );
}

#[test]
fn a_repeated_group_of_one_repeated_child_is_the_element() {
    // The parquet crate has other rules here.
    let assert_tree = |message, expected: &str| assert_eq!(render(&build_offsets(message).1), expected);
    assert_tree(
        "message m { optional group my_list (LIST) { repeated group array (LIST) { repeated int32 array; } } }",
        "my_list:1/0/0[2 array:2/1/2[3 array:3/2/3#0]]",
    );
    assert_tree(
        "message m { optional group my_list (LIST) { repeated group array { repeated int32 num; } } }",
        "my_list:1/0/0[2 array:2/1/2{num:2/1/2[3 num:3/2/3#0]}]",
    );
    assert_tree(
        "message m { optional group my_list (LIST) { repeated group element (MAP) {
           repeated group key_value { required int32 key; optional int32 value; } } } }",
        "my_list:1/0/0[2 element:2/1/2[3 key_value:3/2/3{key:3/2/3#0 value:4/2/3#1}]]",
    );
    // A list of lists of lists, and one of maps of the wrong structure.
    assert_tree(
        "message m { required group a (LIST) { repeated group b (LIST) { repeated group c (LIST) { repeated int32 d; } } } }",
        "a:0/0/0[1 b:1/1/1[2 c:2/2/2[3 d:3/3/3#0]]]",
    );
    assert_tree(
        "message m { required group a (LIST) { repeated group b (MAP) { repeated group c { required int32 d;
           required int32 e; required int32 f; } } } }",
        "a:0/0/0[1 b:1/1/1{c:1/1/1[2 c:2/2/2{d:2/2/2#0 e:2/2/2#1 f:2/2/2#2}]}]",
    );
    // Without an annotation around it, it is not a list.
    assert_tree(
        "message m { required group a { repeated group b { repeated int32 c; } } }",
        "a:0/0/0{b:0/0/0[1 b:1/1/1{c:1/1/1[2 c:2/2/2#0]}]}",
    );
    // Without leaves there is nothing to read.
    assert_tree(
        "message m { optional group l (LIST) { repeated group e { repeated group x { } } } required int32 b; }",
        "b:0/0/0#0",
    );
}

#[test]
fn the_levels_that_old_lists_stand_for_count_for_the_limit() {
    let list_of_lists = |depth: usize| {
        let mut message = String::from("message m { required group g (LIST) { ");
        (2..depth).for_each(|level| write!(message, "repeated group g{level} (LIST) {{ ").unwrap());
        message + "repeated int32 a; " + &"} ".repeat(depth)
    };
    let (_, nodes) = build_offsets(&list_of_lists(50));
    assert!(render(&nodes).ends_with(&format!("[49 a:49/49/49#0{}", "]".repeat(49))));
    let error = build(&parse(&list_of_lists(60)), None, &offsets(), None).unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 100, needed: 101, .. }), "{error}");
}

#[test]
fn repeated_fields_without_annotation_are_required_lists_of_required_elements() {
    assert_tree("message m { repeated int32 num; }", "num:0/0/0[1 num:1/1/1#0]");
    assert_tree(
        "message m { optional group s { repeated group r { required int32 a; repeated int32 b; } } }",
        "s:1/0/0{r:1/0/0[2 r:2/1/2{a:2/1/2#0 b:2/1/2[3 b:3/2/3#1]}]}",
    );
}

#[test]
fn maps_are_lists_of_entries() {
    assert_tree(
        "message m { optional group m (MAP) { repeated group key_value {
           required binary key (STRING); optional int32 value; } } }",
        "m:1/0/0[2 key_value:2/1/2{key:2/1/2#0 value:3/1/2#1}]",
    );
    assert_tree(
        "message m { required group m (MAP_KEY_VALUE) { repeated group map {
           required binary k (STRING); optional group v (LIST) { repeated group list { required int32 element; } } } } }",
        "m:0/0/0[1 map:1/1/1{k:1/1/1#0 v:2/1/1[3 element:3/2/3#1]}]",
    );
}

#[test]
fn optional_map_keys_keep_their_definition_level() {
    assert_tree(
        "message m { optional group m (MAP) { repeated group map (MAP_KEY_VALUE) {
           optional int32 key; optional int32 value; } } }",
        "m:1/0/0[2 map:2/1/2{key:3/1/2#0 value:3/1/2#1}]",
    );
}

#[test]
fn maps_without_values_are_lists_of_keys() {
    assert_tree(
        "message m { optional group m (MAP) { repeated group key_value { required int32 key; } } }",
        "m:1/0/0[2 key:2/1/2#0]",
    );
}

#[test]
fn lists_in_lists_remember_their_nearest_repeated_ancestor() {
    assert_tree(
        "message m { optional group a (LIST) { repeated group list { optional group element {
           optional group m (MAP) { repeated group key_value { required int32 key; optional int32 value; } }
           optional int32 x; } } } }",
        "a:1/0/0[2 element:3/1/2{m:4/1/2[5 key_value:5/2/5{key:5/2/5#0 value:6/2/5#1}] x:4/1/2#2}]",
    );
}

#[test]
fn groups_without_leaves_vanish() {
    assert_tree("message m { }", "");
    assert_tree("message m { optional group empty { } required int32 a; }", "a:0/0/0#0");
    assert_tree(
        "message m { required group outer { optional group empty { } required int32 a; }
           optional group l (LIST) { repeated group list { optional group element { } } } required int32 b; }",
        "outer:0/0/0{a:0/0/0#0} b:0/0/0#1",
    );
    assert_tree(
        "message m { optional group m (MAP) { repeated group key_value {
           required int32 key; optional group value { } } } required int32 b; }",
        "b:0/0/0#1",
    );
}

#[test]
fn names_may_repeat() {
    assert_tree("message m { required int32 a; optional int64 a; }", "a:0/0/0#0 a:1/0/0#1");
}
