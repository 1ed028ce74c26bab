//! The cases, one file a concern. They read like a specification, cite the invariants that they hold
//! (`I2`, `I11`), and know nothing of any backend. The table below is the list of them all.

pub mod accept;
pub mod access;
pub mod audit;
pub mod batches;
pub mod cancel;
pub mod capacity;
pub mod claim;
pub mod clocks;
pub mod datasets;
pub mod decisions;
pub mod demand;
pub mod dimensions;
pub mod documents;
pub mod due;
pub mod duplicates;
pub mod fairness;
pub mod histories;
pub mod kept;
pub mod leases;
pub mod letters;
pub mod limits;
pub mod log;
pub mod ordering;
pub mod processes;
pub mod rates;
pub mod retention;
pub mod retry;
pub mod reviews;
pub mod revisions;
pub mod shares;
pub mod standing;
pub mod steps;
pub mod upkeep;
pub mod usage;
pub mod words;

/// One test a case for a backend. `$backend` is an expression that makes a [`crate::bundle::Backend`].
macro_rules! cases {
    ($backend:expr) => {
        $crate::conformance::each_case! { $backend;
            accept {
                a_job_and_its_event_come_together,
                same_key_same_request_is_the_same_job,
                a_replay_passes_no_admission,
                a_key_that_has_expired_stands_for_nothing,
                same_key_other_request_is_refused_and_leaves_no_trace,
                the_same_key_of_two_tenants_is_two_keys,
                many_at_once_with_one_key_are_one_job,
                a_key_tells_what_it_stands_for,
                a_tenant_is_full_at_its_limit_and_not_before,
                a_tenant_that_is_full_is_free_again_when_a_job_ends,
                the_system_is_full_at_its_limit_and_not_before,
                a_document_must_be_the_tenants,
                a_budget_that_can_not_pay_the_first_call_refuses_where_the_task_says_so,
                a_job_that_is_not_due_yet_waits,
                one_bad_job_does_not_fail_its_neighbours,
                a_tenant_that_is_not_there_is_refused,
                a_caller_that_stops_waiting_does_not_undo_the_write,
                what_was_given_is_what_is_found,
            }
            rates {
                a_bucket_is_emptied_and_fills_again,
                what_is_refused_takes_nothing,
                what_was_accepted_before_is_not_counted,
                each_of_those_who_are_counted_has_a_bucket,
                many_at_once_are_no_more,
                without_limits_nothing_is_kept,
                full_buckets_are_forgotten,
            }
            ordering {
                one_at_a_time_in_accept_order,
                across_a_retry,
                across_a_step,
                a_review_blocks_those_behind_it,
                cancelling_one_in_the_middle_lets_nobody_pass,
                the_end_of_the_first_releases_one_that_is_not_due,
                keys_belong_to_a_tenant_and_a_task,
                one_that_expires_makes_room,
            }
            kept {
                a_job_that_fails_keeps_its_key,
                where_the_task_does_not_say_so_it_goes_on,
                a_success_or_a_cancellation_keeps_nothing,
                a_replay_that_succeeds_frees_the_key,
                a_replay_by_another_task_frees_the_key,
                a_replay_that_fails_keeps_the_key_on,
                a_replay_that_is_cancelled_leaves_the_key_kept,
                a_second_replay_goes_when_the_first_has_failed,
                a_letter_that_is_dealt_with_frees_the_key,
                a_letter_that_is_dealt_with_during_a_replay_lets_it_end_first,
                what_fails_behind_a_kept_key_keeps_it_as_well,
                who_comes_while_the_key_is_freed_is_let_go,
            }
            claim {
                a_claim_raises_fence_and_attempts_together,
                the_attempt_is_written_before_the_claim_returns,
                never_more_than_slots,
                nothing_due_is_nothing_claimed,
                no_job_is_claimed_twice,
                only_jobs_of_the_pool,
                a_worker_reads_what_it_needs,
                late_jobs_at_the_head_are_expired_and_not_claimed,
                many_late_jobs_are_ended_by_several_claims,
                a_model_without_a_price_is_not_claimed,
                a_read_that_fails_leaves_the_next_alone,
                the_reply_says_when_to_look_again,
                whoever_waits_for_a_pool_is_told,
            }
            clocks {
                an_hour_ahead_and_back_ends_a_job_once,
                an_hour_back_stops_nothing,
            }
            standing {
                a_job_is_accepted_and_claimed_by_one_commit,
                the_next_step_is_claimed_as_the_last_one_is_committed,
                what_is_not_claimed_at_once_is_signalled,
                who_has_gone_is_not_asked,
            }
            fairness {
                tenants_take_turns,
                the_turn_goes_on_where_it_stopped,
                a_tenant_at_its_limit_is_passed_by,
                a_tenant_without_money_is_passed_by,
                priority_goes_first,
                waiting_long_enough_beats_priority,
                retries_go_before_new_jobs,
                jobs_that_have_started_go_before_new_ones,
                among_equals_in_accept_order,
            }
            shares {
                a_weight_is_a_share,
                shares_are_the_same_in_small_claims,
                a_weight_counts_at_once,
                shares_are_counted_in_cost,
                a_single_job_waits_for_one_turn_of_each_other_tenant,
                a_tenant_that_spreads_over_keys_gains_nothing,
                a_tenant_that_spreads_over_tasks_gains_nothing,
                a_tenant_that_spreads_over_ordering_keys_gains_nothing,
                keys_of_a_tenant_take_turns,
                the_turn_of_the_keys_goes_on_where_it_stopped,
                the_tasks_of_a_key_are_one_queue,
                only_the_tasks_that_are_asked_for,
                in_a_round_everybody_has_a_turn,
                the_queue_says_whose_turns_come_first,
                what_a_lane_is_handed_is_counted,
                a_lane_yields_when_it_can_take_nothing,
            }
            limits {
                a_key_holds_at_n,
                the_limit_of_a_key_counts_at_once,
                a_full_key_is_passed_by,
                a_task_holds_at_n_over_all_tenants,
                a_full_task_is_passed_by,
                a_call_that_ends_makes_room_in_its_own_transaction,
                many_claimers_never_exceed_the_limit_of_a_key,
            }
            capacity {
                requests_per_minute_hold_at_n,
                a_job_larger_than_the_limit_waits_aside,
                calls_in_flight_hold_at_n,
                the_window_frees_after_a_minute_and_the_slack,
                the_window_outlives_a_restart,
                a_refusal_on_one_dimension_takes_nothing_of_the_others,
                a_budget_holds_to_the_micro_unit,
                many_claimers_never_exceed_a_limit,
                a_cooldown_stops_the_whole_pool_and_ends,
                a_shorter_cooldown_does_not_end_a_longer_one,
                a_limit_without_a_word_on_when_rests_a_second,
                an_overload_rests_the_pool_only_where_the_provider_says_how_long,
                a_day_is_an_account_of_its_own,
                a_month_is_an_account_of_its_own,
                what_was_not_sent_gives_its_money_back,
                what_may_have_been_billed_stays_on_the_books,
                more_than_was_reserved_is_a_recorded_overage,
            }
            dimensions {
                each_holds_at_n_and_can_be_raised,
                tokens_in_flight_go_back_with_their_call,
                what_was_not_sent_counts_for_nothing,
                unused_tokens_go_back_where_the_pool_counts_so,
                an_unknown_outcome_counts_with_all_that_it_had,
                a_day_is_any_24_hours,
                calls_are_spread_over_the_minute,
            }
            steps {
                the_next_step_is_planned_and_journaled,
                success_leaves_a_result,
                doubt_leaves_a_review,
                a_job_that_can_not_be_done_fails,
                a_release_gives_everything_back,
                bytes_in_blobs_stay_references,
                a_stale_fence_changes_nothing,
                another_life_of_the_store_changes_nothing,
                after_a_cancel_only_evidence_is_kept,
                after_an_expiry_only_evidence_is_kept,
                an_attempt_is_settled_once,
                the_attempt_of_another_owner_is_not_touched,
                an_unknown_job_is_lost,
                commit_beats_time,
                odd_text_is_kept,
            }
            retention {
                a_job_goes_as_a_whole_when_its_time_is_over,
                what_has_not_ended_stays,
                a_call_that_may_still_run_keeps_its_job,
                a_dead_letter_has_its_own_time,
                a_key_outlives_its_job_and_says_how_it_ended,
                a_key_that_was_taken_again_is_the_next_jobs,
                money_and_use_outlive_their_jobs,
                who_missed_what_was_deleted_is_told,
                the_last_event_stays,
                members_stay_until_their_batch_is_complete,
                a_document_goes_when_no_job_refers_to_it,
                what_a_row_refers_to_is_no_rubbish,
                a_replay_and_its_original_name_each_other_as_long_as_they_are_there,
            }
            retry {
                a_failure_is_tried_again_at_its_time,
                the_last_attempt_ends_the_job,
                a_deferral_is_no_attempt,
                never_before_a_providers_word,
                not_where_it_could_not_finish_in_time,
                a_class_that_is_never_tried_again_ends_the_job,
                a_class_for_persons_asks_one,
                what_may_have_been_billed_goes_by_the_tasks_word,
                attempts_are_counted_a_step,
                keyed_jobs_that_are_ready_again_at_once_all_run,
            }
            upkeep {
                an_extension_keeps_what_is_held,
                an_extension_moves_the_lease_of_the_grant_too,
                a_stale_or_lapsed_owner_extends_nothing,
                an_extension_is_no_event,
                only_a_lapsed_lease_is_rescued,
                a_rescue_takes_the_job_and_keeps_the_books,
                whoever_takes_a_job_is_told_what_it_has_used,
                a_job_that_kills_its_workers_runs_out_of_attempts,
                a_rescue_may_ask_a_person,
                a_deadline_ends_what_waits_for_machines,
                a_deadline_does_not_end_a_review,
                a_deadline_that_has_not_passed_ends_nothing,
                permits_of_closed_attempts_come_back_with_their_lease,
                permits_of_open_attempts_stay,
                the_longest_lapsed_comes_first,
                who_acts_late_on_what_was_seen_changes_nothing,
            }
            cancel {
                a_waiting_job_is_cancelled,
                a_running_job_is_taken_from_its_worker,
                a_review_is_closed_by_it,
                twice_is_once,
                a_job_that_has_ended_stays_as_it_is,
                its_permit_comes_back_once,
            }
            audit {
                each_change_leaves_a_record,
                what_changes_nothing_leaves_none,
                it_says_what_was_and_what_is,
                a_tenant_sees_its_own_affairs,
                records_are_found_by_what_is_asked,
                pages_hold_each_record_once,
            }
            batches {
                a_batch_is_complete_when_its_last_job_has_ended,
                members_are_taken_in_once,
                a_batch_whose_members_are_all_refused_is_complete_at_once,
                a_call_that_broke_off_says_how_far_it_came,
                a_call_is_one_batch_for_its_key,
                a_job_that_was_there_before_is_waited_for,
                a_job_may_be_two_members,
                a_job_in_review_has_not_ended,
                a_decision_completes_a_batch,
                many_ends_at_once_complete_a_batch_once,
                a_batch_is_cancelled_piece_by_piece,
                a_batch_that_was_cancelled_takes_no_members,
                replays_are_members,
                batches_belong_to_their_tenant,
            }
            leases {
                a_job_is_its_holders_until_somebody_takes_it,
                one_leads_until_its_lease_lapses,
                who_stops_leading_is_followed_at_once,
                of_many_at_once_one_leads,
            }
            letters {
                a_job_that_fails_is_a_dead_letter,
                letters_are_found_by_what_is_asked,
                letters_are_counted_by_task_and_class,
                pages_hold_each_letter_once,
                a_person_deals_with_a_letter,
                many_letters_are_changed_at_once_each_by_itself,
                a_letter_takes_so_many_notes_and_not_one_more,
                a_replay_is_a_new_job,
                the_same_letter_is_not_replayed_twice,
                what_did_not_fail_is_not_replayed,
                a_replay_passes_admission,
                a_replay_under_a_key_is_one_replay,
                a_replay_that_fails_is_the_letter_that_is_left,
                a_replay_that_is_cancelled_leaves_the_letter_open,
                what_is_to_be_replayed_comes_oldest_first,
            }
            log {
                numbers_rise_in_commit_order,
                every_version_has_one_event,
                every_event_is_a_cloud_event,
                pages_hold_each_event_once,
                a_page_says_where_the_log_ends,
                numbers_go_on_after_a_restart,
                commits_are_announced,
                who_loses_a_job_is_told,
            }
            access {
                a_tenant_is_made_and_changed,
                keys_are_kept_by_digest,
                one_of_those_who_start_at_once_makes_the_first_key,
                a_key_is_revoked_once,
                a_key_of_nobody_is_refused,
                whatever_is_anothers_is_absent,
                pages_hold_each_job_once_while_others_come,
                pages_of_some_jobs_hold_each_once,
                jobs_are_found_by_state_task_and_time,
                jobs_are_found_by_metadata,
                the_queue_says_what_stands_in_the_way,
            }
            datasets {
                versions_are_counted_and_stay,
                the_same_content_again_is_no_new_version,
                a_dataset_is_its_tenants,
                only_on_the_version_that_was_seen,
                as_many_as_a_tenant_may_have,
                a_new_version_is_audited,
            }
            duplicates {
                a_second_success_about_the_same_is_refused_and_may_be_committed_otherwise,
                of_many_at_once_one_succeeds,
                fingerprints_belong_to_a_tenant_and_a_task,
                who_is_not_the_owner_takes_nothing,
            }
            documents {
                a_document_is_kept_once,
                a_document_is_its_tenants,
            }
            revisions {
                numbers_rise_and_the_last_is_active,
                the_active_text_is_not_kept_twice,
                an_older_text_can_be_applied_again,
                another_active_one_is_told,
                who_expected_another_one_changes_nothing,
                a_list_says_who_and_when,
            }
            processes {
                a_process_says_how_it_is,
                who_is_silent_is_forgotten,
                who_ends_is_gone,
            }
            reviews {
                open_ones_oldest_first,
                a_review_says_what_is_in_doubt,
                reviews_are_found_by_what_is_asked,
                pages_hold_each_review_once_while_others_are_decided,
                one_reviewer_holds_a_review,
                a_claim_lapses_and_can_be_given_back,
                claims_are_on_record_and_prolonging_is_not,
                what_is_not_in_review_is_not_held,
            }
            decisions {
                an_approval_makes_the_output_the_result,
                nothing_can_not_be_approved,
                a_correction_stands_beside_what_the_model_said,
                a_rejection_ends_the_job,
                a_rerun_is_a_generation_of_its_own,
                a_rerun_can_be_rerun,
                a_result_of_a_rerun_is_the_jobs_result,
                two_reviewers_never_both_decide,
                whoever_holds_a_review_decides_it,
                a_version_that_moved_is_not_decided,
                the_same_decision_sent_again_is_the_same,
                after_a_cancel_nothing_is_decided,
                a_deadline_does_not_end_a_decision,
                a_foreign_job_is_not_decided,
                every_decision_is_on_record,
                decided_reviews_are_listed_in_their_order,
                a_decision_takes_the_fingerprint_of_its_result,
                a_decision_outlives_a_restart,
            }
            due {
                a_review_that_is_due_is_noted_once,
                a_default_decision_waits_for_whoever_holds_the_review,
                the_program_decides_as_anybody_does,
                what_is_decided_is_not_due,
                what_was_seen_of_an_earlier_review_is_not_said_of_the_next,
            }
            words {
                an_event_of_a_newer_build_is_passed_on,
                a_failure_of_a_newer_class_is_one_that_can_not_be_read,
                a_job_of_a_newer_priority_has_its_turn,
                an_action_and_a_scope_of_a_newer_build_are_no_hindrance,
            }
            demand {
                a_pool_that_nobody_asked_for_has_no_demand,
                what_waits_is_told_apart_by_tenant_and_task,
                what_is_not_due_or_runs_does_not_wait,
                calls_are_measured_by_what_has_ended,
                calls_of_others_and_of_other_pools_are_not_measured,
                a_pool_that_rests_says_until_when,
            }
            usage {
                days_add_up_to_attempts,
                only_the_days_that_were_asked_for,
                what_nobody_billed_is_no_use,
                what_is_not_asked_for_is_added_up,
                pages_of_use_are_the_whole,
            }
        }

        /// Whatever is asked of a store in whatever order.
        #[test]
        fn random_histories_keep_the_promises() {
            $crate::conformance::histories::random_histories_keep_the_promises(|| $backend);
        }
    };
}

macro_rules! each_case {
    ($backend:expr; $($concern:ident { $($case:ident,)* })*) => {
        $(
            mod $concern {
                use super::*;
                $(
                    #[tokio::test]
                    async fn $case() {
                        let bundle = $crate::bundle::Bundle::new($backend).await;
                        $crate::conformance::$concern::$case(&bundle).await;
                        bundle.finish().await;
                    }
                )*
            }
        )*
    };
}

pub(crate) use {cases, each_case};
